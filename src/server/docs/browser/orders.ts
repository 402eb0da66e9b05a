import { FIELD_NAMES } from '../../../orders/fields.js';
import { parseJsonArray } from '../../../orders/json.js';
import { make, scrollable } from './dom.js';

type OnCancel = (id: string, button: HTMLButtonElement) => void;

const SHOWN_ORDERS = 100;

/**
 * Creates a table from the JSON text of a list of orders. Each row has a button that cancels its
 * order. Every integer is read exactly, because a rounded id would cancel another order.
 */
export function renderOrders(text: string, onCancel: OnCancel): Node[] {
  const rows: HTMLTableRowElement[] = [];
  let isCut = false;
  try {
    for (const { value } of parseJsonArray(text)) {
      isCut = rows.length === SHOWN_ORDERS;
      if (isCut) break;
      rows.push(renderOrder(value, onCancel));
    }
  } catch {
    return [make('p', 'note', 'The response is not a list of orders. A proxy may have sent it.')];
  }
  const orders = `${rows.length} ${rows.length === 1 ? 'order' : 'orders'}`;
  const title = make('h3', '', isCut ? `The first ${orders}` : orders);
  if (rows.length === 0) return [title];
  const head = make('tr', '', ...[...FIELD_NAMES, 'action'].map(heading));
  const table = make('table', 'orders', make('thead', '', head), make('tbody', '', ...rows));
  return [title, scrollable('div', 'scroller', 'Orders', table)];
}

/** Shows below the row of an order why its cancellation was refused. Replaces an earlier reason. */
export function explainInRow(button: HTMLElement, content: Node | undefined): void {
  const row = button.closest('tr');
  if (row?.nextElementSibling?.classList.contains('refusal')) row.nextElementSibling.remove();
  if (content === undefined) return;
  const cell = make('td', '', content);
  cell.colSpan = FIELD_NAMES.length + 1;
  row?.after(make('tr', 'refusal', cell));
}

function heading(name: string): HTMLTableCellElement {
  const cell = make('th', name, name === 'action' ? make('span', 'unseen', 'Cancel') : name);
  cell.scope = 'col';
  return cell;
}

function renderOrder(value: unknown, onCancel: OnCancel): HTMLTableRowElement {
  const fields = new Map<string, unknown>(Object.entries(value ?? {}));
  const cells = FIELD_NAMES.map((name) => {
    const cell = make(name === 'id' ? 'th' : 'td', name, String(fields.get(name) ?? ''));
    if (name === 'id') cell.scope = 'row';
    return cell;
  });
  const id = String(fields.get('id'));
  const button = make('button', 'small', 'Cancel');
  button.type = 'button';
  button.ariaLabel = `Cancel order ${id}`;
  button.addEventListener('click', () => onCancel(id, button));
  return make('tr', '', ...cells, make('td', 'action', button));
}
