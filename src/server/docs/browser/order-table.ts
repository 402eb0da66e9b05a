import { parseJsonArray } from '../../../orders/json.js';
import { make } from './dom.js';

/** The maximum number of rows. */
const SHOWN_ORDERS = 100;

const COLUMNS = ['id', 'petId', 'quantity', 'shipDate', 'complete'] as const;

type OnCancel = (id: string, button: HTMLButtonElement) => void;

/**
 * Creates a table from the JSON text of a list of orders. Each row has a button that cancels its
 * order. Every integer is read exactly, because a rounded id would cancel another order.
 */
export function renderOrders(text: string, onCancel: OnCancel): Node[] {
  const rows: HTMLTableRowElement[] = [];
  try {
    for (const { value } of parseJsonArray(text)) {
      if (rows.push(renderOrder(value, onCancel)) === SHOWN_ORDERS) break;
    }
  } catch {
    return [make('p', 'note', 'This response is not a list of orders.')];
  }
  const total = countElements(text);
  const orders = `${total.toLocaleString('en')} ${total === 1 ? 'order' : 'orders'}`;
  const title = make('h3', '', total > rows.length ? `${orders}, the first ${rows.length}` : orders);
  if (total === 0) return [title];
  const head = make('tr', '', ...[...COLUMNS, 'action'].map(heading));
  const table = make('table', 'orders', make('thead', '', head), make('tbody', '', ...rows));
  const scroller = make('div', 'scroller', table);
  scroller.tabIndex = 0;
  scroller.role = 'region';
  scroller.ariaLabel = 'Orders';
  return [title, scroller];
}

/**
 * Explains why a cancellation was refused: shows `content` below the row of the order. Removes the
 * earlier explanation of that row, if any.
 */
export function explainInRow(button: HTMLElement, content: Node | undefined): void {
  const row = button.closest('tr');
  if (row?.nextElementSibling?.classList.contains('refusal')) row.nextElementSibling.remove();
  if (content === undefined) return;
  const cell = make('td', '', content);
  cell.colSpan = COLUMNS.length + 1;
  row?.after(make('tr', 'refusal', cell));
}

function heading(name: string): HTMLTableCellElement {
  const cell = make('th', name, name === 'action' ? make('span', 'unseen', 'Cancel') : name);
  cell.scope = 'col';
  return cell;
}

function renderOrder(value: unknown, onCancel: OnCancel): HTMLTableRowElement {
  const fields = new Map<string, unknown>(Object.entries(value ?? {}));
  const cells = COLUMNS.map((name) => {
    const cell = make(name === 'id' ? 'th' : 'td', name, String(fields.get(name) ?? ''));
    cell.dataset['label'] = name;
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

/** Counts the elements of a JSON array without parsing them. The text must be an array. */
function countElements(text: string): number {
  let depth = 0;
  let commas = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '"':
        while (text[++i] !== '"' && i < text.length) if (text[i] === '\\') i++;
        break;
      case '[':
      case '{':
        depth++;
        break;
      case ']':
      case '}':
        depth--;
        break;
      case ',':
        if (depth === 1) commas++;
    }
  }
  return /^\s*\[\s*\]/.test(text) ? 0 : commas + 1;
}
