import { renderAnswer, renderFailure } from './answer.js';
import { announce, byId, everyHalfSecond } from './dom.js';
import { renderOrders } from './order-list.js';
import { forgetQuota, showQuota } from './quota.js';
import { type Answer, curlLine, type Sending, send } from './send.js';
import { duration, NO_WAIT, waitOf } from './wait.js';

const ordersUrl = new URL(`.${document.body.dataset['basePath']}/store/orders`, location.href).href;
const key = byId('key', HTMLInputElement);
const showKey = byId('key-show', HTMLButtonElement);
const orderId = byId('order-id', HTMLInputElement);
const confirmation = byId('confirm', HTMLDialogElement);

/** Of the key that is entered now. */
let wait = NO_WAIT;
let isSending = false;

const OPERATIONS = {
  listOrders: (): Sending => ({ method: 'GET', url: ordersUrl, apiKey: key.value.trim() }),
  cancelOrder: (id = orderId.value.trim()): Sending => ({
    method: 'DELETE',
    url: `${ordersUrl}/${encodeURIComponent(id)}`,
    apiKey: key.value.trim(),
  }),
} as const;
type Operation = keyof typeof OPERATIONS;

/** Whether an answer is on its way, or the last one asked to wait. */
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
    // Unless it is the answer to another key by now.
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

function askToCancel(id: string, button: HTMLButtonElement): void {
  if (button.classList.contains('done') || isBlocked()) return;
  byId('confirm-id', HTMLElement).textContent = id;
  confirmation.returnValue = 'keep';
  confirmation.onclose = async () => {
    if (confirmation.returnValue !== 'cancel') return;
    orderId.value = id;
    updateCurl();
    const answer = await run('cancelOrder', OPERATIONS.cancelOrder(id));
    if (answer === undefined) return;
    button.textContent = answer.status === 204 ? 'Cancelled' : `${answer.status}`;
    button.ariaLabel = `Cancel order ${id}: ${answer.status} ${answer.statusText}`;
    button.classList.toggle('done', answer.status === 204 || answer.status === 409);
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
    // Not `disabled`: the focus would be lost.
    button.ariaDisabled = `${isSending || leftMs > 0 || button.classList.contains('done')}`;
  }
}

function updateCurl(): void {
  const showsKey = key.type === 'text';
  byId('listOrders-curl', HTMLElement).textContent = curlLine(OPERATIONS.listOrders(), showsKey);
  byId('cancelOrder-curl', HTMLElement).textContent = curlLine(
    OPERATIONS.cancelOrder(orderId.value.trim() || '1'),
    showsKey,
  );
}

async function copy(source: HTMLElement, button: HTMLButtonElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(source.textContent ?? '');
    button.textContent = 'Copied';
    announce('Copied.');
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2_000);
  } catch {
    // There is no clipboard without https, except on this machine: the text is at least marked.
    getSelection()?.selectAllChildren(source);
    announce('Marked. Copy it with the keyboard.');
  }
}

function onSubmit(form: string, action: () => unknown): void {
  byId(form, HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    action();
  });
}

onSubmit('key-form', () => run('listOrders', OPERATIONS.listOrders()));
onSubmit('listOrders-form', () => run('listOrders', OPERATIONS.listOrders()));
onSubmit('cancelOrder-form', () => run('cancelOrder', OPERATIONS.cancelOrder()));
for (const operation of ['listOrders', 'cancelOrder']) {
  const button = byId(`${operation}-copy`, HTMLButtonElement);
  button.addEventListener('click', () => copy(byId(`${operation}-curl`, HTMLElement), button));
}
key.addEventListener('input', () => {
  wait = NO_WAIT;
  forgetQuota();
  updateButtons();
  updateCurl();
});
showKey.addEventListener('click', () => {
  const shows = key.type === 'password';
  key.type = shows ? 'text' : 'password';
  showKey.ariaPressed = `${shows}`;
  updateCurl();
});
orderId.addEventListener('input', updateCurl);
everyHalfSecond(updateButtons);
updateCurl();
