/** Returns the element of the page with this id. */
export function byId<T extends Element>(id: string, type: new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new TypeError(`the page has no ${type.name} with id "${id}"`);
  return element;
}

/** Creates an element. A string in `content` becomes text, even if it contains markup. */
export function createElement<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  ...content: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  if (className !== '') element.className = className;
  element.append(...content);
  return element;
}

/** Creates a region that scrolls. It is focusable, so that the keyboard can scroll it. */
export function createScrollable<Name extends 'div' | 'pre'>(
  name: Name,
  className: string,
  label: string,
  ...content: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = createElement(name, className, ...content);
  element.tabIndex = 0;
  element.role = 'group';
  element.ariaLabel = label;
  return element;
}

/** Announces to screen readers what has just happened. */
export function announce(sentence: string): void {
  byId('announcement', HTMLElement).textContent = sentence;
}

/** Formats a wait, rounded up: `42 s`, `3 min 20 s`, and from two hours on `23 h 59 min`. */
export function formatDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (seconds < 120) return `${seconds} s`;
  if (minutes < 120) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
