/** Returns the element of the page with this id. */
export function byId<T extends Element>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new TypeError(`the page has no ${type.name} with id "${id}"`);
  return found;
}

/** Creates an element. A string in `content` becomes text, even if it contains markup. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  ...content: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  if (className !== '') element.className = className;
  element.append(...content);
  return element;
}

/** Announces to screen readers what has just happened. */
export function announce(sentence: string): void {
  byId('announcement', HTMLElement).textContent = sentence;
}

/** Calls `update` immediately, and then every half second. */
export function everyHalfSecond(update: () => void): void {
  update();
  setInterval(update, 500);
}
