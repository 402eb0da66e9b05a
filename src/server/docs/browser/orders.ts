import { ORDER_FIELDS, parseJsonArray } from '../../../orders/exact-json.js';
import { createElement, createScrollable } from './dom.js';

type OnCancel = (id: string, button: HTMLButtonElement) => void;

const SHOWN_ORDERS = 100;
/** The API returns no status. */
const COLUMNS = ORDER_FIELDS.filter((name) => name !== 'status');

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
    return [createElement('p', 'note', 'The response is not a list of orders. A proxy may have sent it.')];
  }
  const orderCount = `${rows.length} ${rows.length === 1 ? 'order' : 'orders'}`;
  const title = createElement('h3', 'listed', isCut ? `The first ${orderCount}` : orderCount);
  if (rows.length === 0) return [title];
  const headings = createElement('tr', '', ...[...COLUMNS, 'action'].map(renderHeading));
  const table = createElement(
    'table',
    'orders',
    createElement('thead', '', headings),
    createElement('tbody', '', ...rows),
  );
  return [title, createScrollable('div', 'scroller listed', 'Orders', table)];
}

/** Shows below the row of an order why its cancellation was refused. Replaces an earlier reason. */
export function explainInRow(button: HTMLElement, content: Node | undefined): void {
  const row = button.closest('tr');
  if (row?.nextElementSibling?.classList.contains('refusal')) row.nextElementSibling.remove();
  if (content === undefined) return;
  const cell = createElement('td', '', content);
  cell.colSpan = COLUMNS.length + 1;
  row?.after(createElement('tr', 'refusal', cell));
}

function renderHeading(name: string): HTMLTableCellElement {
  const cell = createElement('th', name, name === 'action' ? createElement('span', 'unseen', 'Cancel') : name);
  cell.scope = 'col';
  return cell;
}

function renderOrder(value: unknown, onCancel: OnCancel): HTMLTableRowElement {
  const fields = new Map<string, unknown>(Object.entries(value ?? {}));
  const cells = COLUMNS.map((name) => {
    const cell = createElement(name === 'id' ? 'th' : 'td', name, String(fields.get(name) ?? ''));
    if (name === 'id') cell.scope = 'row';
    return cell;
  });
  const id = String(fields.get('id'));
  const button = createElement('button', 'small', 'Cancel');
  button.type = 'button';
  button.dataset['id'] = id;
  button.ariaLabel = `Cancel order ${id}`;
  button.addEventListener('click', () => onCancel(id, button));
  return createElement('tr', '', ...cells, createElement('td', 'action', button));
}
