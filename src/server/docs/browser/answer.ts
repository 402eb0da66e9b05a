import { renderJson, scrollable } from './code.js';
import { announce, everyHalfSecond, make } from './dom.js';
import type { Answer } from './send.js';
import { duration, type Wait, waitOf } from './wait.js';

const countdowns = new Map<HTMLElement, Wait>();
everyHalfSecond(() => {
  for (const [element, wait] of countdowns) {
    if (!element.isConnected) countdowns.delete(element);
    count(element, wait);
  }
});

/**
 * Renders a response: the status, then `content`, then the body and the header fields. `content`
 * shows the body in another form, such as a table.
 */
export function renderAnswer(answer: Answer, content: readonly Node[]): Node[] {
  const { status, statusText, headers, text } = answer;
  announce(`Response ${status} ${statusText}`);
  const fields = Array.from(headers, ([name, value]) => `${name}: ${value}`).join('\n');
  return [
    make(
      'p',
      'line',
      make('span', `status ${status < 400 ? 'good' : 'bad'}`, `${status} ${statusText}`),
      make('span', 'hint', facts(answer).join(' · ')),
    ),
    ...(status < 400 ? [] : [explain(answer)]),
    ...content,
    ...(text === '' ? [] : [details('JSON', renderJson('JSON', text), true)]),
    details('Header fields', scrollable('Header fields', fields), false),
  ];
}

/** Returns how long the response took, its size and the remaining quota, as texts. */
function facts({ status, headers, text, durationMs }: Answer): readonly string[] {
  const coding = headers.get('Content-Encoding');
  const size = `${Number(headers.get('Content-Length') ?? text.length).toLocaleString('en')} bytes`;
  const limit = headers.get('X-RateLimit-Limit');
  return [
    `${Math.round(durationMs)} ms`,
    status === 204 ? 'no content' : coding === null ? size : `${size} (${coding})`,
    ...(limit === null ? [] : [`${headers.get('X-RateLimit-Remaining')} of ${limit} left`]),
  ];
}

export function renderFailure(sentence: string): Node[] {
  announce(sentence);
  return [make('p', 'note', sentence)];
}

/**
 * Explains an error response: shows the message of its Error object, how long to wait, and a link
 * to the error code.
 */
export function explain({ headers, text }: Answer): HTMLElement {
  const { code, message } = readError(text);
  const row = document.getElementById(`error-${code}`);
  const name = row === null ? make('b', '', code) : make('a', '', code);
  if (name instanceof HTMLAnchorElement) name.href = `#error-${code}`;
  const note = make('p', 'note', name, ` ${message}`);
  if (!headers.has('Retry-After')) return note;
  const left = make('strong', 'countdown');
  const wait = waitOf(headers);
  countdowns.set(left, wait);
  count(left, wait);
  note.prepend(left, ' ');
  return note;
}

function count(element: HTMLElement, wait: Wait): void {
  element.textContent = wait.leftMs() > 0 ? `Wait ${duration(wait.leftMs())}.` : 'You can send the next request.';
}

function readError(text: string): { readonly code: string; readonly message: string } {
  try {
    const { code, message } = JSON.parse(text);
    return { code: String(code), message: String(message) };
  } catch {
    return { code: 'unknown', message: 'The response is not an Error object. A proxy may have sent it.' };
  }
}

function details(summary: string, content: Node, isOpen: boolean): HTMLDetailsElement {
  const element = make('details', '', make('summary', '', summary), content);
  element.open = isOpen;
  return element;
}
