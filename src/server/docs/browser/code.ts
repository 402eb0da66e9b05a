import { indentJson, tokensOf } from '../highlight.js';
import { announce, make } from './dom.js';

/**
 * How many characters of a text are shown at most. The text of a million orders would block the
 * page.
 */
const SHOWN_TEXT = 20_000;

/**
 * Creates a block of indented and coloured JSON. The JSON is not parsed, because that would round
 * large integers.
 */
export function renderJson(label: string, json: string): HTMLElement {
  const rest = json.length - SHOWN_TEXT;
  const nodes: (Node | string)[] = [];
  for (const { kind, text } of tokensOf(indentJson(rest > 0 ? json.slice(0, SHOWN_TEXT) : json))) {
    nodes.push(kind === '' ? text : make('span', kind, text));
  }
  if (rest > 0) nodes.push(`… ${rest.toLocaleString('en')} more characters`);
  return scrollable(label, ...nodes);
}

/**
 * Creates a code block. It is focusable, because a block that scrolls must be reachable by
 * keyboard.
 */
export function scrollable(label: string, ...content: (Node | string)[]): HTMLPreElement {
  const element = make('pre', '', ...content);
  element.tabIndex = 0;
  element.role = 'group';
  element.ariaLabel = label;
  return element;
}

/**
 * The values in the request samples: the address, the order id and the key. `shownKey` is empty
 * while the key field masks the key.
 */
export interface SampleValues {
  readonly base: string;
  readonly id: string;
  readonly shownKey: string;
}

/** Writes the values into the request samples. */
export function fillSamples({ base, id, shownKey }: SampleValues): void {
  fill('base', base);
  fill('id', encodeId(id));
  fill('export', shownKey === '' ? '' : `export API_KEY='${shownKey.replaceAll("'", "'\\''")}'\n`);
}

function fill(name: string, text: string): void {
  for (const element of document.querySelectorAll(`[data-fill=${name}]`)) element.textContent = text;
}

/**
 * Encodes an order id for a URL path. The request samples show the result between quotes, where it
 * needs no further escaping.
 */
export function encodeId(id: string): string {
  return encodeURIComponent(id).replaceAll("'", '%27');
}

/**
 * Enables the copy buttons and the choice of a language. All samples are shown in the same
 * language.
 */
export function enableSamples(): void {
  document.addEventListener('click', ({ target }) => {
    if (target instanceof HTMLButtonElement && target.className === 'copy') void copy(target);
  });
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || target.type !== 'radio') return;
    for (const other of document.querySelectorAll('input[type=radio]')) {
      if (other instanceof HTMLInputElement && other.value === target.value) other.checked = true;
    }
  });
}

async function copy(button: HTMLButtonElement): Promise<void> {
  const blocks = button.closest('.code')?.querySelectorAll('pre') ?? [];
  const source = Array.from(blocks).find((block) => block.checkVisibility());
  if (source === undefined) return;
  try {
    await navigator.clipboard.writeText(source.textContent ?? '');
    button.textContent = 'Copied';
    announce('Copied.');
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2_000);
  } catch {
    // Browsers provide the clipboard only over https and on loopback. Elsewhere the text is
    // selected, so that the user can copy it.
    getSelection()?.selectAllChildren(source);
    announce('The text is selected. Copy it with the keyboard.');
  }
}
