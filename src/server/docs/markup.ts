import { ERROR_CODES } from '../../http/index.js';
import { indentJson, tokensOf } from './highlight.js';

export function escapeHtml(plain: string): string {
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** Converts inline Markdown: powers such as 2^53, and code, linked if it is an error code. */
export function prose(markdown: string): string {
  return escapeHtml(markdown)
    .replace(/`([^`]+)`/g, (_, code: string) => (isErrorCode(code) ? errorLink(code) : `<code>${code}</code>`))
    .replace(/2\^(\d+)/g, '2<sup>$1</sup>');
}

/** Returns a link to the description of an error code. */
export function errorLink(code: string): string {
  return `<a href="#error-${code}"><code>${code}</code></a>`;
}

function isErrorCode(code: string): boolean {
  return ERROR_CODES.some((known) => known === code);
}

const BLOCK = /^```\w+ (.*)\n([\s\S]*?)\n```$|((?:^\|.*\n?)+)|((?:^(?!```|\|).+\n?)+)/gm;

/** Converts Markdown whose blocks are paragraphs, tables and code with a title after its language. */
export function markdown(text: string): string {
  return Array.from(text.matchAll(BLOCK), ([, title = '', code, rows, paragraph = '']) => {
    if (code !== undefined) return codeBlock(title, code);
    return rows === undefined ? `<p>${prose(paragraph.trim())}</p>` : table(rows);
  }).join('\n');
}

function table(rows: string): string {
  const [headings = [], , ...body] = rows
    .trim()
    .split('\n')
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => prose(cell.trim())),
    );
  return `<table>
<thead><tr>${headings.map((heading) => `<th scope="col">${heading}</th>`).join('')}</tr></thead>
<tbody>
${body.map(([header, ...cells]) => `<tr><th scope="row">${header}</th>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n')}
</tbody>
</table>`;
}

/** Returns coloured code under a title, with a button that copies the code. */
function codeBlock(title: string, code: string): string {
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

export function section(id: string, title: string, content: string): string {
  return `<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
${content}
</section>`;
}

/** Returns a list of terms, each with its description. Both are HTML. */
export function fieldList(rows: readonly (readonly [term: string, description: string])[], className = ''): string {
  const items = rows.map(([term, description]) => `<div><dt>${term}</dt><dd>${description}</dd></div>`);
  return `<dl class="fields${className}">\n${items.join('\n')}\n</dl>`;
}
