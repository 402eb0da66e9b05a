import { type ParseArgsConfig, parseArgs } from 'node:util';
import { getDefault } from 'valibot';
import type { CommandResult } from '../command-result.js';
import { CONFIG_VARIABLE, type SettingSources } from '../config/read-settings.js';
import { type SettingName, settingsSchema, settingText } from '../config/settings.js';

/**
 * A command of the program: its operands and options, its help text, and the function that runs it.
 */
export interface Command {
  /** The words that the user types, such as `orders import`. */
  readonly name: string;
  /** The description of the command. The list of commands shows only its first sentence. */
  readonly summary: string;
  /** The names of the operands, in the order in which the user types them. All are required. */
  readonly operands: readonly string[];
  /** The options, by name without dashes. Every command also has `--help` and `--json`. */
  readonly options: Readonly<Record<string, CommandOption>>;
  /** Example command lines for the help text, without the program's name. */
  readonly examples?: readonly string[];
  run(invocation: Invocation): CommandResult | Promise<CommandResult>;
}

export interface CommandOption {
  /**
   * The placeholder of the option's value in the help text. Absent if the option takes no value.
   */
  readonly value?: string;
  readonly about: string;
  /**
   * The default value. If the option is a setting, this value is only shown in the help text,
   * because `readSettings` applies the default.
   */
  readonly default?: string;
  /** The environment variable that has the same effect. */
  readonly env?: string;
  readonly isRequired?: true;
}

/** A call of a command whose operands and options have been checked. */
export interface Invocation extends SettingSources {
  readonly operands: readonly string[];
}

export type ParsedCommand =
  | { readonly ok: true; readonly invocation: Invocation }
  | { readonly ok: false; readonly message: string };

export const PROGRAM = 'store-orders';

const COMMON_OPTIONS: Readonly<Record<string, CommandOption>> = {
  json: { about: 'print one JSON value, for scripts' },
  help: { about: 'show this help' },
};

export function optionsOf(command: Command): ReadonlyMap<string, CommandOption> {
  return new Map(Object.entries({ ...command.options, ...COMMON_OPTIONS }));
}

/** Checks the arguments of a command against its operands and options. */
export function parseCommand(
  command: Command,
  args: readonly string[],
  environment: SettingSources['environment'],
): ParsedCommand {
  const options = optionsOf(command);
  // With `strict`, Node.js would name a wrong option only in the text of an error.
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(Array.from(options, ([name, option]) => [name, parsedAs(option)] as const)),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const help = `run "${PROGRAM} ${command.name} --help"`;
  for (const token of tokens) {
    const mistake = token.kind === 'option' ? mistakeIn(token, options, help) : undefined;
    if (mistake !== undefined) return { ok: false, message: mistake };
  }
  const flags = new Map(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : (true as const)]),
  );
  const mistake = missingOrTooMany(command, positionals, flags);
  if (mistake !== undefined) return { ok: false, message: `${mistake}; ${help}` };
  return { ok: true, invocation: { flags, operands: positionals, environment } };
}

function parsedAs({
  value,
  default: defaultValue,
  env,
}: CommandOption): NonNullable<ParseArgsConfig['options']>[string] {
  const isFilledIn = defaultValue !== undefined && env === undefined;
  return { type: value === undefined ? 'boolean' : 'string', ...(isFilledIn && { default: defaultValue }) };
}

function missingOrTooMany(
  { operands: expected, options }: Command,
  operands: readonly string[],
  flags: Invocation['flags'],
): string | undefined {
  const missing = expected[operands.length];
  if (missing !== undefined) return `missing ${missing}`;
  const [unexpected] = operands.slice(expected.length);
  if (unexpected !== undefined) return `unexpected argument${quoted(unexpected)}`;
  const required = Object.entries(options).find(([name, { isRequired }]) => isRequired && !flags.has(name));
  return required && `missing required option --${required[0]} ${required[1].value}`;
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function mistakeIn(token: OptionToken, options: ReadonlyMap<string, CommandOption>, help: string): string | undefined {
  const { name, rawName, value, inlineValue } = token;
  const option = options.get(name);
  if (option === undefined) {
    if (/^-[0-9]/.test(rawName)) return `unknown option ${rawName}; write -- before a negative number`;
    const meant = nearest(name, options.keys());
    return `unknown option ${rawName}; ${meant === undefined ? help : `did you mean --${meant}?`}`;
  }
  if (option.value === undefined) return value === undefined ? undefined : `${rawName} takes no value; ${help}`;
  if (value === undefined || (!inlineValue && value.startsWith('--'))) {
    return `missing value: ${rawName} ${option.value}; ${help}`;
  }
  if (inlineValue || !value.startsWith('-')) return undefined;
  return `${rawName}: write ${rawName}=${value} for a value that begins with "-"`;
}

/** Quotes user input for a message. Omits API keys and URLs, which may contain a password. */
export function quoted(text: string): string {
  return text.includes('://') || text.startsWith('so_') ? '' : ` ${JSON.stringify(text)}`;
}

/** Returns the most similar of the words, or `undefined` if no word is similar enough. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  const most = Math.min(2, Math.floor(word.length / 2));
  const [near] = Array.from(words, (candidate) => ({ candidate, distance: distance(word, candidate) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance);
  return near?.candidate;
}

/**
 * Returns how many characters must be added, removed or replaced to turn `from` into `to` (the
 * Levenshtein distance).
 */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [above, character] of [...from].entries()) {
    const next = [above + 1];
    for (let i = 0; i < to.length; i++) {
      const [left = 0, up = 0, diagonal = 0] = [next[i], row[i + 1], row[i]];
      next.push(Math.min(left + 1, up + 1, diagonal + (to[i] === character ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Returns these settings as options of a command, and adds the option `--config`. */
export function settingOptions(names: readonly SettingName[]): Readonly<Record<string, CommandOption>> {
  const options: Record<string, CommandOption> = {};
  for (const name of names) {
    const { flag, value, help, env } = settingText(name);
    const defaultValue = value === undefined ? undefined : getDefault(settingsSchema.entries[name]);
    options[flag] = {
      about: help,
      env,
      ...(value !== undefined && { value }),
      ...(defaultValue !== undefined && { default: `${defaultValue}` }),
    };
  }
  return { ...options, config: { value: 'FILE', about: 'JSON file with settings', env: CONFIG_VARIABLE } };
}

/**
 * Returns a shell command that runs the program with `words` and with this invocation's storage
 * options. A URL is replaced with `URL`, because it may contain a password. Under npm the command
 * begins with `npx`, because a program that is installed in a project is not on the PATH of a
 * shell.
 */
export function commandLine({ flags, environment }: Invocation, words: string): string {
  const program = environment['npm_lifecycle_event'] === undefined ? PROGRAM : `npx ${PROGRAM}`;
  const options = ['config', 'db', 'database-url', 'redis-url'].map((name) => {
    const value = flags.get(name);
    if (typeof value !== 'string') return '';
    return ` --${name} ${value.includes('://') ? 'URL' : shellWord(value)}`;
  });
  return `${program} ${words}${options.join('')}`;
}

/** Quotes one argument for the shell. cmd.exe accepts only double quotes. */
function shellWord(text: string): string {
  if (process.platform === 'win32') return /^[\w.:\\/-]+$/.test(text) ? text : `"${text}"`;
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
