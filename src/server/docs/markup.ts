import { indentJson, tokensOf } from './highlight.js';

export function escapeHtml(plain: string): string {
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** Converts the Markdown of descriptions: code between backticks, and powers such as 2^53. */
export function prose(markdown: string): string {
  return escapeHtml(markdown)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/2\^(\d+)/g, '2<sup>$1</sup>');
}

/** Returns coloured code under a title, with a button that copies the code. */
export function codeBlock(title: string, code: string): string {
  return figure(title, title, pre(title, code));
}

/** Returns a figure with one or more code blocks. Its button copies the one that is visible. */
export function figure(name: string, caption: string, content: string): string {
  return `<figure class="code">
<figcaption>${caption}<button type="button" class="copy" aria-label="Copy: ${name}">Copy</button></figcaption>
${content}
</figure>`;
}

/** Returns a code block. It is focusable, so that the keyboard can scroll it. */
export function pre(label: string, code: string): string {
  return `<pre tabindex="0" role="group" aria-label="${label}">${coloured(code)}</pre>`;
}

export function jsonBlock(label: string, value: unknown): string {
  return codeBlock(label, indentJson(JSON.stringify(value)));
}

function coloured(code: string): string {
  let html = '';
  for (const { kind, text } of tokensOf(code)) {
    html += kind === '' ? escapeHtml(text) : `<span class="${kind}">${escapeHtml(text)}</span>`;
  }
  return html;
}

/** Returns a table row whose first cell is its header. The cells must be HTML: none is escaped. */
export function row(header: string, ...cells: readonly string[]): string {
  return `<tr><th scope="row">${header}</th>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
}

export function table(headings: readonly string[], rows: readonly string[]): string {
  return `<table>
<thead><tr>${headings.map((heading) => `<th scope="col">${heading}</th>`).join('')}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>`;
}

/**
 * Returns a section of the page. On a wide screen `aside` is next to `content`, otherwise below it.
 * `rest` is below both.
 */
export function section(id: string, title: string, content: string, aside: string, rest = ''): string {
  return `<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
<div class="pair">
<div class="text">
${content}
</div>
<div class="beside">
${aside}
</div>
</div>
${rest}
</section>`;
}
