import { parseOrderId } from '../../../orders/exact-json.js';
import { announce, byId, formatDuration } from './dom.js';
import { explainInRow, renderOrders } from './orders.js';
import { showQuota } from './quota.js';
import { renderError, renderFailure, renderResponse } from './response.js';
import { enableSamples } from './samples.js';
import { type ReadResponse, send } from './send.js';

const base = new URL(`.${document.body.dataset['basePath']}`, location.href).href.replace(/\/$/, '');
const keyInput = byId('key', HTMLInputElement);
const showKeyButton = byId('key-show', HTMLButtonElement);
const orderIdInput = byId('order-id', HTMLInputElement);
const output = byId('response', HTMLElement);
const confirmDialog = byId('confirm', HTMLDialogElement);

const NO_QUOTA_CAPTION = 'Send a request to see the quota of this key.';
const KEY_CAPTION = 'Remaining requests for this key';
const ADDRESS_CAPTION = 'Remaining requests for your address, without a valid key';

/** When the key in the key field may send its next request, as a value of `performance.now()`. */
let waitUntilMs = 0;
let isSending = false;
let updateQuota = () => {};

/** Reads the key without the words before it in a header field, which are often pasted too. */
const readKey = () => keyInput.value.trim().replace(/^(?:authorization: *)?bearer +/i, '');

const waitMs = () => Math.max(0, waitUntilMs - performance.now());

/**
 * Sends a request with the key in the key field. Returns `undefined` while another request is in
 * flight, and while the user has to wait: a request within this time could get the key banned.
 */
async function request(method: 'GET' | 'DELETE', path: string): Promise<ReadResponse | string | undefined> {
  if (waitMs() > 0) announce(`Wait ${formatDuration(waitMs())} before the next request.`);
  if (isSending || waitMs() > 0) return undefined;
  isSending = true;
  update();
  const apiKey = readKey();
  const response = await send(method, base + path, apiKey);
  isSending = false;
  // The user may have changed the key since. The response then does not apply to the new key.
  if (typeof response !== 'string' && apiKey === readKey()) {
    const { status, headers } = response;
    waitUntilMs = performance.now() + Number(headers.get('Retry-After') ?? 0) * 1_000;
    const isAddressQuota = status === 401 || headers.get('RateLimit-Policy')?.startsWith('"address-');
    if (headers.has('RateLimit')) updateQuota = showQuota(isAddressQuota ? ADDRESS_CAPTION : KEY_CAPTION, headers);
  }
  update();
  return response;
}

/**
 * Shows a response, and then `content`. Scrolls until all of it is visible with the form, or the form
 * is at the top.
 */
function show(response: ReadResponse | string | undefined, content: readonly Node[]): void {
  if (response === undefined) return;
  output.replaceChildren(
    ...(typeof response === 'string' ? renderFailure(response) : renderResponse(response, content)),
  );
  update();
  output.parentElement?.scrollIntoView({ block: 'nearest' });
}

async function list(): Promise<void> {
  const response = await request('GET', '/store/orders');
  const isListed = typeof response === 'object' && response.status === 200;
  show(response, isListed ? renderOrders(response.text, cancelInRow) : []);
}

const cancel = (id: string) => request('DELETE', `/store/orders/${encodeURIComponent(id)}`);

/** Asks the user to confirm the cancellation of an order, and then calls `onConfirmed`. */
function confirmThen(id: string, onConfirmed: () => unknown): void {
  byId('confirm-id', HTMLElement).textContent = id;
  confirmDialog.returnValue = 'keep';
  confirmDialog.onclose = () => confirmDialog.returnValue === 'cancel' && onConfirmed();
  confirmDialog.showModal();
}

function cancelInRow(id: string, button: HTMLButtonElement): void {
  if (button.ariaDisabled === 'true') return;
  confirmThen(id, async () => {
    const response = await cancel(id);
    if (typeof response === 'string') return show(response, []);
    if (response === undefined) return;
    announce(`Response ${response.status} ${response.statusText}`);
    showInRow(response, id, button, renderError);
    update();
  });
}

/** Cancels the order of the form. The list stays, and the row of the order shows the outcome. */
async function cancelFromForm(id: string): Promise<void> {
  const response = await cancel(id);
  const button = output.querySelector(`button[data-id="${CSS.escape(id)}"]`);
  // The reason of a refusal is in the response above the list.
  if (typeof response === 'object' && button instanceof HTMLButtonElement) showInRow(response, id, button);
  show(response, Array.from(output.querySelectorAll('.listed')));
}

/** Shows the outcome of a cancellation in the row of its order, and below it what `explain` returns. */
function showInRow(
  response: ReadResponse,
  id: string,
  button: HTMLButtonElement,
  explain?: (response: ReadResponse) => HTMLElement,
): void {
  const { status, statusText } = response;
  button.textContent = status === 204 ? 'Cancelled' : 'Refused';
  button.ariaLabel = `Cancel order ${id}: ${status} ${statusText}`;
  button.classList.toggle('done', status === 204 || status === 409);
  explainInRow(button, status === 204 ? undefined : explain?.(response));
}

/** Updates what depends on the wait: the countdowns, the buttons and the quota. */
function update(): void {
  const leftMs = waitMs();
  for (const element of document.querySelectorAll('.countdown')) {
    element.textContent = leftMs > 0 ? `Wait ${formatDuration(leftMs)}.` : 'You can send the next request.';
  }
  for (const button of document.querySelectorAll('.send button, .orders button')) {
    // Uses `aria-disabled`, because `disabled` would take the focus away from the button.
    button.ariaDisabled = `${isSending || leftMs > 0 || button.classList.contains('done')}`;
  }
  updateQuota();
}

byId('key-form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  void list();
});
byId('list', HTMLButtonElement).addEventListener('click', list);
byId('send', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  const id = orderIdInput.value.trim();
  if (id === '') return;
  // An invalid id names no order, so there is nothing to confirm. The response explains the id.
  if (parseOrderId(id) === undefined) void cancelFromForm(id);
  else confirmThen(id, () => cancelFromForm(id));
});
keyInput.addEventListener('input', () => {
  waitUntilMs = 0;
  updateQuota = showQuota(NO_QUOTA_CAPTION, new Headers());
  update();
});
showKeyButton.addEventListener('click', () => {
  const isHidden = keyInput.type === 'password';
  keyInput.type = isHidden ? 'text' : 'password';
  showKeyButton.textContent = isHidden ? 'Hide' : 'Show';
});
enableSamples(base);
setInterval(update, 500);
