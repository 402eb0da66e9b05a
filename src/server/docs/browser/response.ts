import { indentJson, tokensOf } from '../highlight.js';
import { announce, createElement, createScrollable } from './dom.js';
import type { ReadResponse } from './send.js';

/** The maximum number of characters shown. The text of a million orders would block the page. */
const SHOWN_TEXT = 20_000;

/**
 * Renders a response: the status, then `content`, then the body and the header fields. `content`
 * shows the body in another form, such as a table.
 */
export function renderResponse(response: ReadResponse, content: readonly Node[]): Node[] {
  const { status, statusText, headers, text, durationMs } = response;
  announce(`Response ${status} ${statusText}`);
  const size = `${Number(headers.get('Content-Length') ?? text.length).toLocaleString('en')} bytes`;
  const facts = `${Math.round(durationMs)} ms · ${status === 204 ? 'no content' : size}`;
  const fields = Array.from(headers, ([name, value]) => `${name}: ${value}`).join('\n');
  return [
    createElement(
      'p',
      'line',
      createElement('span', `status ${status < 400 ? 'good' : 'bad'}`, `${status} ${statusText}`),
      createElement('span', 'hint', facts),
    ),
    ...(status < 400 ? [] : [renderError(response)]),
    ...content,
    ...(text === '' ? [] : [renderDetails('JSON', renderJson(text), true)]),
    renderDetails('Header fields', createScrollable('pre', '', 'Header fields', fields), false),
  ];
}

export function renderFailure(sentence: string): Node[] {
  announce(sentence);
  return [createElement('p', 'note', sentence)];
}

/**
 * Renders an error response: the message of its Error object, a link to the error code and, after a
 * 429 or 503, an element that counts down the wait.
 */
export function renderError({ headers, text }: ReadResponse): HTMLElement {
  const { code, message } = readError(text);
  const link = createElement('a', '', code);
  link.href = `#error-${code}`;
  const note = createElement('p', 'note', link, ` ${message}`);
  if (headers.has('Retry-After')) note.prepend(createElement('strong', 'countdown'), ' ');
  return note;
}

function readError(text: string): { readonly code: string; readonly message: string } {
  try {
    const { code, message } = JSON.parse(text);
    if (typeof code === 'string') return { code, message: String(message) };
  } catch {}
  return { code: 'unknown', message: 'The response is not an Error object. A proxy may have sent it.' };
}

/** Renders indented and coloured JSON without parsing it, which would round large integers. */
function renderJson(json: string): HTMLElement {
  const rest = json.length - SHOWN_TEXT;
  const nodes: (Node | string)[] = [];
  for (const { kind, text } of tokensOf(indentJson(rest > 0 ? json.slice(0, SHOWN_TEXT) : json))) {
    nodes.push(kind === '' ? text : createElement('span', kind, text));
  }
  if (rest > 0) nodes.push(`… ${rest.toLocaleString('en')} more characters`);
  return createScrollable('pre', '', 'JSON', ...nodes);
}

function renderDetails(summary: string, content: Node, isOpen: boolean): HTMLDetailsElement {
  const element = createElement('details', '', createElement('summary', '', summary), content);
  element.open = isOpen;
  return element;
}
