import { announce, everyHalfSecond, make } from './dom.js';
import type { Answer } from './send.js';
import { duration, type Wait, waitOf } from './wait.js';

/** In characters: a list of a million orders would hold the page up for long. */
const SHOWN_TEXT = 50_000;

const countdowns = new Map<HTMLElement, Wait>();
everyHalfSecond(() => {
  for (const [element, wait] of countdowns) {
    if (!element.isConnected) countdowns.delete(element);
    count(element, wait);
  }
});

/** The answer as it came, with `content` (what is read from it) before its raw text. */
export function renderAnswer(answer: Answer, content: readonly Node[]): Node[] {
  const { status, statusText, headers, text, durationMs } = answer;
  const kind = status < 400 ? 'good' : 'bad';
  const length = Number(headers.get('Content-Length') ?? text.length).toLocaleString('en');
  const coding = headers.get('Content-Encoding');
  const size = `${length} bytes${coding === null ? '' : ` of ${coding}`}`;
  announce(`Answer ${status} ${statusText}`);
  return [
    make(
      'p',
      'line',
      make('span', `status ${kind}`, `${status} ${statusText}`),
      make('span', 'hint', `${Math.round(durationMs)} ms, ${status === 204 ? 'no content' : size}`),
    ),
    ...(status < 400 ? [] : [explain(answer)]),
    ...content,
    ...(text === '' ? [] : [make('h3', '', 'Raw text'), scrollable('Raw text', shorten(text))]),
    make(
      'details',
      '',
      make('summary', '', 'Header fields'),
      scrollable('Header fields', Array.from(headers, ([name, value]) => `${name}: ${value}`).join('\n')),
    ),
  ];
}

export function renderFailure(sentence: string): Node[] {
  announce(sentence);
  return [make('p', 'note', sentence)];
}

/** The Error object's own words, the wait that is asked for, and where to read more. */
function explain({ headers, text }: Answer): HTMLElement {
  const { code, message } = readError(text);
  const note = make('p', 'note', make('b', '', code), ` ${message} `);
  const row = document.getElementById(`error-${code}`);
  if (row !== null) {
    const link = make('a', '', 'All errors');
    link.href = `#error-${code}`;
    note.append(link);
    for (const other of document.querySelectorAll('li.current')) other.classList.remove('current');
    row.classList.add('current');
  }
  if (!headers.has('Retry-After')) return note;
  const left = make('strong', 'countdown');
  const wait = waitOf(headers);
  countdowns.set(left, wait);
  count(left, wait);
  note.prepend(left, ' ');
  return note;
}

function count(element: HTMLElement, wait: Wait): void {
  element.textContent = wait.leftMs() > 0 ? `Wait ${duration(wait.leftMs())}.` : 'You can send again.';
}

function readError(text: string): { readonly code: string; readonly message: string } {
  try {
    const { code, message } = JSON.parse(text);
    return { code: String(code), message: String(message) };
  } catch {
    return { code: 'unknown', message: 'The answer is no Error object; something before the service has answered.' };
  }
}

function shorten(text: string): string {
  const rest = text.length - SHOWN_TEXT;
  return rest <= 0 ? text : `${text.slice(0, SHOWN_TEXT)}… and ${rest.toLocaleString('en')} characters more`;
}

/** What can be scrolled must be reachable by keyboard. */
function scrollable(label: string, text: string): HTMLPreElement {
  const element = make('pre', '', text);
  element.tabIndex = 0;
  element.role = 'group';
  element.ariaLabel = label;
  return element;
}
