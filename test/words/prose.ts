import { readdirSync } from 'node:fs';
import { extname } from 'node:path';
import { SyntaxKind } from 'typescript/unstable/ast';
import { createScanner } from 'typescript/unstable/ast/scanner';

/** A piece of English in a file. */
export interface Prose {
  readonly kind: 'comment' | 'string' | 'markdown';
  /** The text without comment marks, with one space between words. */
  readonly text: string;
  readonly path: string;
  readonly line: number;
  /** The number of columns of the longest line, without tables and the targets of links. */
  readonly width: number;
}

const FOLDERS = ['src', 'test', 'bench', 'examples', '.ci'];
const GENERATED = new Set(['node_modules', 'generated', 'charts']);
/**
 * After one of these tokens, a slash means division. After any other token, a slash begins a
 * regular expression.
 */
const ENDS_OPERAND = new Set([
  SyntaxKind.Identifier,
  SyntaxKind.NumericLiteral,
  SyntaxKind.BigIntLiteral,
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateTail,
  SyntaxKind.CloseParenToken,
  SyntaxKind.CloseBracketToken,
  SyntaxKind.CloseBraceToken,
  SyntaxKind.ThisKeyword,
]);

const ONLY_COMMENT = /^\s*(?:\/\/|\/?\*)(?!\s*\|)/;
const ADDRESS = /https?:/;
const TRIVIA = new Set([
  SyntaxKind.WhitespaceTrivia,
  SyntaxKind.NewLineTrivia,
  SyntaxKind.SingleLineCommentTrivia,
  SyntaxKind.MultiLineCommentTrivia,
]);

/** Returns the paths of the source and Markdown files below `root`, except generated files. */
export function writtenFiles(root: string): readonly string[] {
  const inside = (folder: string): readonly string[] =>
    readdirSync(`${root}/${folder}`, { withFileTypes: true }).flatMap((entry) => {
      if (entry.isDirectory()) return GENERATED.has(entry.name) ? [] : inside(`${folder}/${entry.name}`);
      return [`${folder}/${entry.name}`];
    });
  const top = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isFile());
  return [...top.map((entry) => entry.name), ...FOLDERS.flatMap(inside)].filter((path) =>
    ['.md', '.ts', '.mjs'].includes(extname(path)),
  );
}

/** Returns the comments and string literals of TypeScript, or the paragraphs of Markdown. */
export function proseOf(path: string, text: string): readonly Prose[] {
  return path.endsWith('.md') ? paragraphs(path, text) : commentsAndStrings(path, text);
}

function commentsAndStrings(path: string, text: string): readonly Prose[] {
  const found: Prose[] = [];
  const lines = text.split('\n');
  const scanner = createScanner(false, undefined, text);
  /**
   * One number for each template literal that is still open, the innermost last. The number counts
   * the braces that are open inside the literal's current `${…}`.
   */
  const braces: number[] = [];
  let last = SyntaxKind.Unknown;
  let line = 1;
  let counted = 0;
  /** Returns the line of an offset. The offset must not be smaller than in the call before. */
  const lineAt = (offset: number) => {
    for (let at = text.indexOf('\n', counted); at >= 0 && at < offset; at = text.indexOf('\n', counted)) {
      line += 1;
      counted = at + 1;
    }
    return line;
  };
  let comment: (Prose & { readonly end: number }) | undefined;
  for (let kind = scanner.scan(); kind !== SyntaxKind.EndOfFile; kind = scanner.scan()) {
    const depth = braces.at(-1);
    if (kind === SyntaxKind.SlashToken || kind === SyntaxKind.SlashEqualsToken) {
      if (!ENDS_OPERAND.has(last)) kind = scanner.reScanSlashToken();
    } else if (kind === SyntaxKind.OpenBraceToken && depth !== undefined) {
      braces[braces.length - 1] = depth + 1;
    } else if (kind === SyntaxKind.CloseBraceToken && depth !== undefined) {
      if (depth > 0) braces[braces.length - 1] = depth - 1;
      else kind = scanner.reScanTemplateToken(false);
    }
    if (!TRIVIA.has(kind) && comment !== undefined) {
      found.push(comment);
      comment = undefined;
    }
    if (kind === SyntaxKind.TemplateHead) braces.push(0);
    if (kind === SyntaxKind.TemplateTail) braces.pop();
    switch (kind) {
      case SyntaxKind.SingleLineCommentTrivia:
      case SyntaxKind.MultiLineCommentTrivia: {
        const start = lineAt(scanner.getTokenStart());
        const end = lineAt(scanner.getTokenEnd());
        const width = Math.max(
          ...lines
            .slice(start - 1, end)
            .map((line) => (ONLY_COMMENT.test(line) && !ADDRESS.test(line) ? line.length : 0)),
        );
        const words = uncommented(scanner.getTokenText());
        const above = comment;
        const continues = start === (above?.end ?? -1) + 1;
        if (above === undefined || kind === SyntaxKind.MultiLineCommentTrivia || !continues) {
          if (above !== undefined) found.push(above);
          comment = { kind: 'comment', text: words, path, line: start, width, end };
        } else {
          // Comment lines that follow each other are one comment.
          comment = { ...above, text: `${above.text} ${words}`, width: Math.max(width, above.width), end };
        }
        break;
      }
      case SyntaxKind.StringLiteral:
      case SyntaxKind.NoSubstitutionTemplateLiteral:
      case SyntaxKind.TemplateHead:
      case SyntaxKind.TemplateMiddle:
      case SyntaxKind.TemplateTail:
        found.push({
          kind: 'string',
          text: scanner.getTokenValue().replace(/\s+/g, ' ').trim(),
          path,
          line: lineAt(scanner.getTokenStart()),
          width: 0,
        });
        break;
    }
    if (!TRIVIA.has(kind)) last = kind;
  }
  if (comment !== undefined) found.push(comment);
  return found;
}

function uncommented(text: string): string {
  return text
    .replace(/^\/\*+|\*+\/$/g, '')
    .replace(/^\s*(?:\/\/|\*)/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * Returns the paragraphs of Markdown, except code blocks and parts that a benchmark writes. Each
 * list item and each table row counts as one paragraph.
 */
function paragraphs(path: string, text: string): readonly Prose[] {
  const found: Prose[] = [];
  let above: Prose | undefined;
  let inCode = false;
  let isGenerated = false;
  for (const [index, line] of text.split('\n').entries()) {
    const words = line.trim();
    if (words.startsWith('```')) inCode = !inCode;
    if (/^<!-- .* written by /.test(words)) isGenerated = true;
    if (words.startsWith('<!-- end of ')) isGenerated = false;
    if (inCode || isGenerated || words === '' || words.startsWith('```')) {
      above = undefined;
      continue;
    }
    const width = words.startsWith('|') ? 0 : line.replace(/\]\([^)]*\)|<https?:[^>]*>/g, '').length;
    if (above === undefined || /^(?:[-|#]|\d+\.)/.test(words)) {
      above = { kind: 'markdown', text: words, path, line: index + 1, width };
    } else {
      found.pop();
      above = { ...above, text: `${above.text} ${words}`, width: Math.max(width, above.width) };
    }
    found.push(above);
  }
  return found;
}
