import { type Command, optionsOf, PROGRAM } from './command.js';

const ABOUT = `${PROGRAM}: an HTTP server for the orders of an animal store, with commands to operate it`;
const FOOTER = `Run "${PROGRAM} help COMMAND" for the options of a command. Every command accepts --json, for scripts.
Exit codes: 0 success, 1 failure, 2 invalid command line or settings.`;
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
  const usage = [PROGRAM, command.name, command.operand, ...required, '[options]'].filter(Boolean).join(' ');
  const about = `${PROGRAM} ${command.name}: ${command.summary}`;
  return [about, `Usage: ${usage}`, `Options:\n${formatRows(rows)}`, formatExamples(command.examples)].join('\n\n');
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
  const usage = [PROGRAM, ...(group === undefined ? ['[COMMAND]'] : [group, 'COMMAND']), '[options]'].join(' ');
  const shown = group === undefined ? EXAMPLES : commands.flatMap((command) => command.examples.slice(0, 1));
  return [about, `Usage: ${usage}`, `Commands:\n${formatRows(rows)}`, formatExamples(shown), FOOTER].join('\n\n');
}

function formatExamples(lines: readonly string[]): string {
  return `Examples:\n${lines.map((line) => `  ${PROGRAM} ${line}`.trimEnd()).join('\n')}`;
}

type Row = readonly [left: string, right: string];

function formatRows(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
