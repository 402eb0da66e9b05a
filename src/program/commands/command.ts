import { parseArgs } from 'node:util';
import * as v from 'valibot';
import { type CommandResult, Misuse } from '../command-result.js';
import { nearest } from '../settings/nearest.js';
import { CONFIG_VARIABLE, type SettingSources } from '../settings/read-settings.js';
import { type SettingName, settingsSchema, wholeNumber } from '../settings/settings.js';

export interface Command {
  /** The words that the user types, such as `orders import`. */
  readonly name: string;
  /** What the command does. The list of commands shows only the first sentence. */
  readonly summary: string;
  /** The name of the required operand. Absent if the command takes none. */
  readonly operand?: string;
  /** The options, by name without dashes. Every command also has `--help` and `--json`. */
  readonly options: Readonly<Record<string, CommandOption>>;
  /** What `--json` does. Default: it prints one JSON value. */
  readonly json?: string;
  /** Example command lines for the help text, without the program's name. */
  readonly examples: readonly string[];
  run(invocation: Invocation): CommandResult | Promise<CommandResult>;
}

export interface CommandOption {
  /** The placeholder of the value in the help text. Absent if the option takes no value. */
  readonly value?: string;
  readonly about: string;
  /** The default as the help text shows it. The command itself applies it. */
  readonly default?: string;
  /** The environment variable that has the same effect. */
  readonly env?: string;
  readonly isRequired?: true;
}

/** A call of a command whose operand and options have been checked. */
export interface Invocation extends SettingSources {
  /** Whether `--json` is given, which every command accepts. It is no entry of `flags`. */
  readonly wantsJson?: boolean;
  /** The operand, or an empty string if the command takes none. */
  readonly operand: string;
}

export const PROGRAM = 'store-orders';

const countSchema = wholeNumber(1, 1_000_000_000);

export function optionsOf({ options, json = 'print one JSON value, for scripts' }: Command) {
  const common: Readonly<Record<string, CommandOption>> = { json: { about: json }, help: { about: 'show this help' } };
  return new Map(Object.entries({ ...options, ...common }));
}

/** Checks the arguments of a command against its operand and options. Throws a {@link Misuse}. */
export function parseCommand(
  command: Command,
  args: readonly string[],
  environment: SettingSources['environment'],
): Invocation {
  const options = optionsOf(command);
  const types = Array.from(
    options,
    ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
  );
  // With `strict`, Node.js would throw its own messages, which suggest no similar option.
  const { positionals, tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(types),
    strict: false,
    tokens: true,
  });
  const flags = new Map<string, string | true>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const option = options.get(name);
    if (option === undefined) throw unknownOption(command, name, rawName);
    if (option.value === undefined && value !== undefined) throw misuse(command, `${rawName} takes no value`);
    if (option.value !== undefined && (value === undefined || (!inlineValue && /^-(?![0-9])/.test(value)))) {
      throw misuse(command, `missing value: ${rawName}=${option.value}`);
    }
    if (flags.has(name)) throw misuse(command, `${rawName} is given twice`);
    flags.set(name, value ?? true);
  }
  const operands = command.operand === undefined ? 0 : 1;
  if (positionals.length < operands) throw misuse(command, `missing ${command.operand}`);
  const unexpected = positionals[operands];
  if (unexpected !== undefined) throw misuse(command, `unexpected argument${quoted(unexpected)}`);
  for (const [name, { isRequired, value }] of options) {
    if (isRequired && !flags.has(name)) throw misuse(command, `missing required option --${name} ${value}`);
  }
  return { flags, operand: positionals[0] ?? '', environment };
}

function unknownOption(command: Command, name: string, rawName: string): Misuse {
  if (/^-[0-9]/.test(rawName))
    return new Misuse(`unknown option ${rawName}; write a negative number at the end, after --`);
  const meant = nearest(name, optionsOf(command).keys());
  const message = `unknown option ${rawName}`;
  return meant === undefined ? misuse(command, message) : new Misuse(`${message}; did you mean --${meant}?`);
}

function misuse({ name }: Command, message: string): Misuse {
  return new Misuse(`${message}; run "${PROGRAM} ${name} --help"`);
}

/** Returns the value of an option that is a count, or `undefined` if the option is absent. */
export function countOf({ flags }: Invocation, name: string): number | undefined {
  const text = flags.get(name);
  if (text === undefined) return undefined;
  const count = v.safeParse(countSchema, text);
  if (count.success) return count.output;
  throw new Misuse(`--${name}: ${count.issues[0].message}, not ${JSON.stringify(text)}`);
}

const UNIT_MS = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Returns the milliseconds of an option that is a time, or `undefined` if the option is absent. */
export function durationOf({ flags }: Invocation, name: string, longestDays: number): number | undefined {
  const text = flags.get(name);
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^([1-9][0-9]*)([smhd])$/.exec(String(text)) ?? [];
  const durationMs = Number(count) * (UNIT_MS.get(unit) ?? Number.NaN);
  if (durationMs <= longestDays * 86_400_000) return durationMs;
  const examples = 'such as 90s, 10m, 2h or 7d';
  throw new Misuse(`--${name}: expected a time up to ${longestDays}d, ${examples}, not ${JSON.stringify(text)}`);
}

/** Quotes user input for a message. Omits URLs, which may contain a password. */
export function quoted(text: string): string {
  return text.includes('://') ? '' : ` ${JSON.stringify(text)}`;
}

/** Returns these settings as options of a command, and adds the option `--config`. */
export function settingOptions(names: readonly SettingName[]): Readonly<Record<string, CommandOption>> {
  const options: Record<string, CommandOption> = {};
  for (const name of names) {
    const { flag, value, help, env } = settingsSchema.entries[name];
    const defaultValue = value === undefined ? undefined : v.getDefault(settingsSchema.entries[name]);
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
 * options. A URL is replaced with `URL`, because it may contain a password. Under npm it begins
 * with `npx`, because a program installed in a project is not on the PATH.
 */
export function commandLine({ flags, environment }: Invocation, words: string): string {
  const program = environment['npm_lifecycle_event'] === undefined ? PROGRAM : `npx ${PROGRAM}`;
  const options = ['config', 'db', 'database-url'].map((name) => {
    const value = flags.get(name);
    if (typeof value !== 'string') return '';
    if (value.includes('://')) return ` --${name} URL`;
    // cmd.exe accepts only double quotes.
    return ` --${name} ${/^[\w.:\\/-]+$/.test(value) ? value : `"${value}"`}`;
  });
  return `${program} ${words}${options.join('')}`;
}
