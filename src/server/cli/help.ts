import { type Command, optionsOf } from './command.js';

const PROGRAM = 'store-orders';

/** The help text of one command. */
export function commandHelp(command: Command): string {
  const rows = Array.from(
    optionsOf(command),
    ([name, { value, about }]): Row => [`--${name}${value === undefined ? '' : ` ${value}`}`, about],
  );
  const usage = [PROGRAM, command.name, ...command.operands, '[options]'].join(' ');
  return `${usage}\n\n${command.summary}\n\nOptions:\n${table(rows)}`;
}

/** What there is: of the whole program, or of one group such as `orders`. */
export function listHelp(commands: readonly Command[], group?: string): string {
  const rows = commands.map((command): Row => [[command.name, ...command.operands].join(' '), command.summary]);
  const usage = [PROGRAM, ...(group === undefined ? [] : [group]), 'COMMAND [options]'].join(' ');
  return `${usage}\n\nCommands:\n${table(rows)}\n\nEach has --help, and --json for scripts. Exit code: 0 done, 1 failed, 2 misused.`;
}

type Row = readonly [left: string, right: string];

function table(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
