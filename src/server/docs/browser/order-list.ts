import { parseJsonArray } from '../../../orders/json.js';
import { make } from './dom.js';

/** More than anybody looks through. */
const SHOWN_ORDERS = 100;

/**
 * The orders of a list's text, each with a button to cancel it. They are read with every integer exact, so that the id
 * shown, and cancelled, is the one that was sent.
 */
export function renderOrders(text: string, onCancel: (id: string, button: HTMLButtonElement) => void): Node[] {
  const list = make('ul', 'orders');
  let isWhole = true;
  try {
    for (const { value } of parseJsonArray(text)) {
      isWhole = list.childElementCount < SHOWN_ORDERS;
      if (!isWhole) break;
      list.append(renderOrder(value, onCancel));
    }
  } catch {
    return [make('p', 'note', 'This is no list of orders.')];
  }
  const count = list.childElementCount;
  return [make('h3', '', isWhole ? `${count} ${count === 1 ? 'order' : 'orders'}` : `The first ${count} orders`), list];
}

function renderOrder(value: unknown, onCancel: (id: string, button: HTMLButtonElement) => void): HTMLLIElement {
  const fields = new Map(Object.entries(value ?? {}));
  const id = String(fields.get('id'));
  fields.delete('id');
  const rest = Array.from(fields, ([name, field]) => make('span', '', `${name} `, make('b', '', String(field))));
  const button = make('button', '', 'Cancel');
  button.type = 'button';
  button.ariaLabel = `Cancel order ${id}`;
  button.addEventListener('click', () => onCancel(id, button));
  return make('li', '', make('code', 'id', id), make('span', 'fields', ...rest), button);
}
