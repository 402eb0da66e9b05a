import { explain, renderAnswer, renderFailure } from './answer.js';
import { enableSamples, encodeId, fillSamples } from './code.js';
import { announce, byId, everyHalfSecond } from './dom.js';
import { watchHealth } from './health.js';
import { followReading } from './navigation.js';
import { explainInRow, renderOrders } from './order-table.js';
import { forgetQuota, showQuota } from './quota.js';
import { type Answer, type Sending, send } from './send.js';
import { duration, NO_WAIT, waitOf } from './wait.js';

const base = new URL(`.${document.body.dataset['basePath']}`, location.href).href.replace(/\/$/, '');
const key = byId('key', HTMLInputElement);
const showKey = byId('key-show', HTMLButtonElement);
const orderId = byId('order-id', HTMLInputElement);
const confirmation = byId('confirm', HTMLDialogElement);
const exampleId = document.querySelector('[data-fill=id]')?.textContent ?? '1';

/** How long to wait before the next request with the key in the key field. */
let wait = NO_WAIT;
let isSending = false;

const OPERATIONS = {
  listOrders: (): Sending => ({ method: 'GET', url: `${base}/store/orders`, apiKey: key.value.trim() }),
  cancelOrder: (id = orderId.value.trim()): Sending => ({
    method: 'DELETE',
    url: `${base}/store/orders/${encodeId(id)}`,
    apiKey: key.value.trim(),
  }),
} as const;
type Operation = keyof typeof OPERATIONS;

/**
 * Returns whether sending is blocked: a request is in flight, or the user still has to wait.
 * Announces a wait to screen readers.
 */
function isBlocked(): boolean {
  const leftMs = wait.leftMs();
  if (leftMs > 0) announce(`Wait ${duration(leftMs)} before the next request.`);
  return isSending || leftMs > 0;
}

async function run(operation: Operation, sending: Sending): Promise<Answer | undefined> {
  if (isBlocked()) return undefined;
  isSending = true;
  updateButtons();
  const answer = await send(sending);
  isSending = false;
  const output = byId(`${operation}-answer`, HTMLElement);
  if (typeof answer === 'string') {
    output.replaceChildren(...renderFailure(answer));
  } else {
    // The user may have changed the key since the request was sent. The response then does not
    // apply to the new key.
    if (sending.apiKey === key.value.trim()) {
      wait = waitOf(answer.headers);
      showQuota(answer);
    }
    const isList = operation === 'listOrders' && answer.status === 200;
    output.replaceChildren(...renderAnswer(answer, isList ? renderOrders(answer.text, askToCancel) : []));
  }
  updateButtons();
  return typeof answer === 'string' ? undefined : answer;
}

/** Sends an operation with the values in its form, and scrolls to the response. */
async function runInView(operation: Operation): Promise<void> {
  await run(operation, OPERATIONS[operation]());
  byId(`${operation}-answer`, HTMLElement).scrollIntoView({ block: 'nearest' });
}

function askToCancel(id: string, button: HTMLButtonElement): void {
  if (button.classList.contains('done') || isBlocked()) return;
  byId('confirm-id', HTMLElement).textContent = id;
  confirmation.returnValue = 'keep';
  confirmation.onclose = async () => {
    if (confirmation.returnValue !== 'cancel') return;
    orderId.value = id;
    updateSamples();
    const answer = await run('cancelOrder', OPERATIONS.cancelOrder(id));
    if (answer === undefined) return;
    const { status, statusText } = answer;
    button.textContent = status === 204 ? 'Cancelled' : 'Refused';
    button.ariaLabel = `Cancel order ${id}: ${status} ${statusText}`;
    button.classList.toggle('done', status === 204 || status === 409);
    explainInRow(button, status === 204 ? undefined : explain(answer));
    updateButtons();
  };
  confirmation.showModal();
}

function updateButtons(): void {
  const leftMs = wait.leftMs();
  for (const operation of ['listOrders', 'cancelOrder']) {
    byId(`${operation}-send`, HTMLElement).textContent = leftMs > 0 ? `Wait ${duration(leftMs)}` : 'Send';
  }
  for (const button of document.querySelectorAll('.send button, .orders button')) {
    // Uses `aria-disabled`, because `disabled` would take the focus away from the button.
    button.ariaDisabled = `${isSending || leftMs > 0 || button.classList.contains('done')}`;
  }
}

function updateSamples(): void {
  const shownKey = key.type === 'text' ? key.value.trim() : '';
  fillSamples({ base, id: orderId.value.trim() || exampleId, shownKey });
}

function onSubmit(form: string, action: () => unknown): void {
  byId(form, HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    action();
  });
}

onSubmit('key-form', () => runInView('listOrders'));
onSubmit('listOrders-form', () => runInView('listOrders'));
onSubmit('cancelOrder-form', () => runInView('cancelOrder'));
key.addEventListener('input', () => {
  wait = NO_WAIT;
  forgetQuota();
  updateButtons();
  updateSamples();
});
showKey.addEventListener('click', () => {
  const shows = key.type === 'password';
  key.type = shows ? 'text' : 'password';
  showKey.ariaPressed = `${shows}`;
  updateSamples();
});
orderId.addEventListener('input', updateSamples);
enableSamples();
everyHalfSecond(updateButtons);
updateSamples();
watchHealth();
followReading();
