import { styleText } from 'node:util';
import { type Command, optionsOf, PROGRAM } from './command.js';

const ABOUT = `${PROGRAM}: an HTTP server for the orders of an animal store, with commands to operate it`;
const FOOTER = [
  `Run "${PROGRAM} help COMMAND" for the options of a command. Every command accepts --json, for scripts.`,
  'Exit codes: 0 success, 1 failure, 2 invalid command line or settings.',
];
const EXAMPLES = ['', '--port 3000 --db shop.db', 'orders import orders.ndjson', 'keys create --plan pro --name shop'];

/** Returns the help text of one command. */
export function commandHelp(command: Command): string {
  const options = [...optionsOf(command)];
  const rows = options.map(
    ([name, { value, about, isRequired, default: defaultValue, env }]): Row => [
      `--${name}${value === undefined ? '' : ` ${value}`}`,
      [about, isRequired && '(required)', defaultValue && `[default: ${defaultValue}]`, env && `[env: ${env}]`]
        .filter(Boolean)
        .join(' '),
    ],
  );
  const required = options.flatMap(([name, { value, isRequired }]) => (isRequired ? [`--${name} ${value}`] : []));
  const usage = [heading('Usage:'), PROGRAM, command.name, command.operand, ...required, '[options]'].filter(Boolean);
  const about = wrap(`${PROGRAM} ${command.name}: ${command.summary}`, '');
  return [about, usage.join(' '), formatRows('Options:', rows), formatExamples(command.examples)].join('\n\n');
}

/** Returns the help text of the program, or of one group of commands such as `orders`. */
export function listHelp(commands: readonly Command[], defaultName: string, group?: string): string {
  const rows = commands.map(
    ({ name, operand, summary }): Row => [
      [name, operand].filter(Boolean).join(' '),
      `${summary.split(/(?<=\.) /)[0]}${name === defaultName ? ' (the default command)' : ''}`,
    ],
  );
  const about = group === undefined ? ABOUT : `${PROGRAM} ${group}: the ${group} commands`;
  const words = group === undefined ? ['[COMMAND]'] : [group, 'COMMAND'];
  const usage = [heading('Usage:'), PROGRAM, ...words, '[options]'].join(' ');
  const shown = group === undefined ? EXAMPLES : commands.flatMap((command) => command.examples.slice(0, 1));
  const footer = FOOTER.map((line) => wrap(line, '')).join('\n');
  return [wrap(about, ''), usage, formatRows('Commands:', rows), formatExamples(shown), footer].join('\n\n');
}

function formatExamples(lines: readonly string[]): string {
  return [heading('Examples:'), ...lines.map((line) => `  ${PROGRAM} ${line}`.trimEnd())].join('\n');
}

type Row = readonly [left: string, right: string];

function formatRows(title: string, rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.map(([left, right]) => wrap(`  ${left.padEnd(width)}  ${right}`, ' '.repeat(width + 4)));
  return [heading(title), ...lines].join('\n');
}

function heading(text: string): string {
  return styleText('bold', text, { stream: process.stdout });
}

/** The fewest characters of a line for which a text is wrapped. */
const MIN_WRAPPED = 20;

/** Wraps a text at the width of the terminal. Further lines begin with `indent`. */
function wrap(text: string, indent: string): string {
  const { columns = Number.POSITIVE_INFINITY } = process.stdout;
  if (text.length <= columns || columns - indent.length < MIN_WRAPPED) return text;
  const before = text.lastIndexOf(' ', columns);
  const end = before > indent.length ? before : text.indexOf(' ', columns);
  if (end === -1) return text;
  return `${text.slice(0, end)}\n${wrap(indent + text.slice(end + 1), indent)}`;
}
