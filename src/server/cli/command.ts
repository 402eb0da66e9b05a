import { parseArgs } from 'node:util';
import { CONFIG_VARIABLE, readSettings, type SettingSources } from '../config/read-settings.js';
import { SETTING_TEXTS, type SettingName } from '../config/settings.js';
import { messageOf } from '../log/request-log.js';
import { openStorage } from '../storage/open.js';
import { IN_MEMORY } from '../storage/sqlite.js';
import type { Storage } from '../storage/storage.js';

/** One command of the program: what it takes, and what it does. */
export interface Command {
  /** As it is typed: `orders import`. */
  readonly name: string;
  readonly summary: string;
  /** In a row, all of them needed. */
  readonly operands: readonly string[];
  /** Besides `--help` and `--json`, which every command has. By name without dashes. */
  readonly options: Readonly<Record<string, CommandOption>>;
  run(invocation: Invocation): Outcome | Promise<Outcome>;
}

export interface CommandOption {
  /** What stands for its value in the help text; an option without it takes none. */
  readonly value?: string;
  readonly about: string;
}

/** One call of a command, its form already checked. */
export interface Invocation extends SettingSources {
  readonly operands: readonly string[];
}

/** What a command came to: exit code 0, 1 or 2. */
export type Outcome =
  /** `text` for a person, `json` one JSON value; neither when the command has written its answer itself. */
  | { readonly outcome: 'done'; readonly text?: string; readonly json?: string }
  | { readonly outcome: 'failed' | 'misused'; readonly message: string };

export function done(text: string, value: unknown): Outcome {
  return { outcome: 'done', text, json: JSON.stringify(value) };
}

export function failed(message: string): Outcome {
  return { outcome: 'failed', message };
}

export function misused(message: string): Outcome {
  return { outcome: 'misused', message };
}

export type ParsedCommand =
  | { readonly ok: true; readonly invocation: Invocation }
  | { readonly ok: false; readonly message: string };

const COMMON_OPTIONS: Readonly<Record<string, CommandOption>> = {
  json: { about: 'answer with one JSON value' },
  help: { about: 'show this text' },
};

export function optionsOf(command: Command): ReadonlyMap<string, CommandOption> {
  return new Map(Object.entries({ ...command.options, ...COMMON_OPTIONS }));
}

/** Checks the arguments of a command against what it takes; `--help` passes whatever else is there. */
export function parseCommand(
  command: Command,
  args: readonly string[],
  environment: SettingSources['environment'],
): ParsedCommand {
  const options = optionsOf(command);
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    options: Object.fromEntries(
      Array.from(options, ([name, { value }]) => [
        name,
        { type: value === undefined ? 'boolean' : 'string', ...(name === 'help' && { short: 'h' }) },
      ]),
    ),
  });
  const flags = new Map<string, string | true>();
  const operands: string[] = [];
  const mistakes: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const option = options.get(name);
    if (option === undefined) {
      mistakes.push(`${rawName}: there is no such option${/^-\d/.test(rawName) ? '; put -- before a number' : ''}`);
    } else if (option.value === undefined) {
      if (inlineValue) mistakes.push(`${rawName}: takes no value`);
      flags.set(name, true);
    } else if (value === undefined || (!inlineValue && value.startsWith('--'))) {
      mistakes.push(`${rawName}: expected a value (${option.value})`);
    } else {
      flags.set(name, value);
    }
  }
  if (operands.length > command.operands.length) {
    mistakes.push(
      `expected ${command.operands.length === 0 ? 'no operand' : command.operands.join(' ')} and nothing more`,
    );
  }
  const missing = command.operands[operands.length];
  if (missing !== undefined) mistakes.push(`expected ${missing}`);
  const [message] = mistakes;
  return message === undefined || flags.has('help')
    ? { ok: true, invocation: { flags, operands, environment } }
    : { ok: false, message };
}

/** These settings as options of a command, and `--config`. */
export function settingOptions(names: readonly SettingName[]): Readonly<Record<string, CommandOption>> {
  const options: Record<string, CommandOption> = {};
  for (const name of names) {
    const { flag, value, variable, about } = SETTING_TEXTS[name];
    options[flag] = { ...(value !== undefined && { value }), about: `${about}; ${variable}` };
  }
  return { ...options, config: { value: 'FILE', about: `JSON file with settings; ${CONFIG_VARIABLE}` } };
}

/** Runs `work` on the data that the invocation names, and closes it. What fails is an outcome. */
export async function withStorage(
  invocation: Invocation,
  work: (data: Storage) => Outcome | Promise<Outcome>,
  { create = false } = {},
): Promise<Outcome> {
  const read = readSettings(invocation, ['db', 'databaseUrl']);
  if (!read.ok) return misused(read.mistake);
  const { settings } = read;
  if (settings.databaseUrl === undefined && settings.db === IN_MEMORY) return misused(NOTHING_LEFT);
  const open = await openStorage(settings, create);
  if (!open.ok) return failed(open.message);
  const { data } = open;
  try {
    return await work(data);
  } catch (error) {
    return failed(`${data.name}: ${messageOf(error)}`);
  } finally {
    await data.close();
  }
}

/** A command that ends has no use for a database in memory. */
export const NOTHING_LEFT = 'a database in memory is gone with its process; name a file with --db';

/** For commands on data: where it is. */
export const DATA_OPTIONS = settingOptions(['db', 'databaseUrl']);
