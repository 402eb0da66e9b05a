/** The CSS class that colours a token. It is empty for text without a colour. */
type TokenKind = '' | 'name' | 'string' | 'number' | 'keyword' | 'comment';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const TOKEN =
  /(?<comment>(?:\/\/|#).*)|(?<name>"(?:[^"\\]|\\.)*"(?=\s*:))|(?<string>"(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`)|(?<number>-?\b\d[\w.+-]*)|(?<keyword>\b(?:as|async|await|const|false|for|function|if|import|new|null|return|true|while|with)\b)/g;

/**
 * Splits JSON or the code of a request sample into tokens, so that each can get a colour. The
 * joined tokens are exactly the original text. Numbers are not parsed, so none is rounded.
 */
export function* tokensOf(code: string): Generator<Token> {
  let end = 0;
  for (const { 0: text, index, groups } of code.matchAll(TOKEN)) {
    if (index > end) yield { kind: '', text: code.slice(end, index) };
    yield { kind: kindOf(groups), text };
    end = index + text.length;
  }
  if (end < code.length) yield { kind: '', text: code.slice(end) };
}

const KINDS: readonly TokenKind[] = ['comment', 'name', 'string', 'number', 'keyword'];

function kindOf(groups: Readonly<Record<string, string | undefined>> = {}): TokenKind {
  return KINDS.find((kind) => groups[kind] !== undefined) ?? '';
}

/** Indents JSON by two spaces without parsing it. Other text is returned as it is. */
export function indentJson(json: string): string {
  if (!/^\s*[[{]/.test(json)) return json;
  let depth = 0;
  const newLine = () => `\n${'  '.repeat(depth)}`;
  return json.replace(/"(?:[^"\\]|\\.)*"?|[[{]\s*[\]}]|[[\]{},:]|\s+/g, (token) => {
    if (token === ':') return ': ';
    if (token === ',') return token + newLine();
    if (token === '[' || token === '{') {
      depth++;
      return token + newLine();
    }
    if (token === ']' || token === '}') {
      depth--;
      return newLine() + token;
    }
    return token.trim();
  });
}
