import { type Command, optionsOf, PROGRAM } from './command.js';

const ABOUT = `${PROGRAM}: an HTTP server for the orders of an animal store, with commands to operate it`;
const MORE = `Run "${PROGRAM} help COMMAND" for the options of a command. Every command accepts --json, for scripts.
Exit codes: 0 success, 1 failure, 2 invalid command line or settings.`;
const EXAMPLES = ['', '--port 3000 --db shop.db', 'orders import orders.ndjson', 'keys create --plan pro --name shop'];

/** Returns the help text of one command. */
export function commandHelp(command: Command): string {
  const options = [...optionsOf(command)].sort(([, a], [, b]) => Number(b.isRequired ?? 0) - Number(a.isRequired ?? 0));
  const rows = options.map(
    ([name, { value, about, isRequired, default: otherwise, env }]): Row => [
      `--${name}${value === undefined ? '' : ` ${value}`}`,
      [about, isRequired && '(required)', otherwise && `[default: ${otherwise}]`, env && `[env: ${env}]`]
        .filter(Boolean)
        .join(' '),
    ],
  );
  const required = options.flatMap(([name, { value, isRequired }]) => (isRequired ? [`--${name} ${value}`] : []));
  const usage = [PROGRAM, command.name, ...command.operands, ...required, '[options]'].join(' ');
  const about = `${PROGRAM} ${command.name}: ${command.summary}`;
  return [about, `Usage: ${usage}`, `Options:\n${table(rows)}`, ...examples(command.examples)].join('\n\n');
}

/** Returns the help text of the program, or of one group of commands such as `orders`. */
export function listHelp(commands: readonly Command[], defaultName: string, group?: string): string {
  const rows = commands.map(
    ({ name, operands, summary }): Row => [
      [name, ...operands].join(' '),
      `${summary.split(/(?<=\.) /)[0]}${name === defaultName ? ' (the default command)' : ''}`,
    ],
  );
  const about = group === undefined ? ABOUT : `${PROGRAM} ${group}: the ${group} commands`;
  const usage = [PROGRAM, ...(group === undefined ? ['[COMMAND]'] : [group, 'COMMAND']), '[options]'].join(' ');
  const shown = group === undefined ? EXAMPLES : commands.flatMap((command) => command.examples?.slice(0, 1) ?? []);
  return [about, `Usage: ${usage}`, `Commands:\n${table(rows)}`, ...examples(shown), MORE].join('\n\n');
}

/**
 * Returns a bash script that completes commands and options. It completes any other word as a file
 * name.
 */
export function bashCompletion(commands: readonly Command[], defaultName: string): string {
  const firstWords = new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''));
  const cases = commands.map((command) => branch(command.name, optionWords(command)));
  for (const first of firstWords) {
    const seconds = commands.flatMap(({ name }) =>
      name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : [],
    );
    if (seconds.length > 0) cases.push(branch(first, seconds));
  }
  const otherwise = commands.flatMap((command) => (command.name === defaultName ? optionWords(command) : []));
  return [
    '_store_orders() {',
    '  local words',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: bash reads the braces
    '  case "${COMP_WORDS[*]:1:COMP_CWORD-1}" in',
    ...cases,
    `    *) words='${[...firstWords, 'help', ...otherwise].join(' ')}' ;;`,
    '  esac',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: bash reads the braces
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '}',
    `complete -o default -F _store_orders ${PROGRAM}`,
  ].join('\n');
}

function branch(typed: string, words: readonly string[]): string {
  return `    '${typed}'*) words='${words.join(' ')}' ;;`;
}

function optionWords(command: Command): string[] {
  return Array.from(optionsOf(command).keys(), (name) => `--${name}`);
}

function examples(lines: readonly string[] = []): string[] {
  return lines.length === 0 ? [] : [`Examples:\n${lines.map((line) => `  ${PROGRAM} ${line}`.trimEnd()).join('\n')}`];
}

type Row = readonly [left: string, right: string];

function table(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
