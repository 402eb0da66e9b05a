import { createRequire } from 'node:module';
import { styleText } from 'node:util';
import { messageOf } from '../../message-of.js';
import { type CommandResult, done, failed, Misuse } from '../command-result.js';
import { masked } from '../masked.js';
import { printable } from '../printable.js';
import { nearest } from '../settings/nearest.js';
import type { SettingSources } from '../settings/read-settings.js';
import { writeText } from '../write-text.js';
import { type Command, type Invocation, PROGRAM, parseCommand, quoted } from './command.js';

const DEFAULT_COMMAND = 'serve';

/** The commands by first word, in the order of the help text. Running one loads only its group. */
const GROUPS: ReadonlyMap<string, () => Promise<readonly Command[]>> = new Map([
  [DEFAULT_COMMAND, async () => [(await import('./serve.js')).serveCommand]],
  ['orders', async () => (await import('./orders.js')).orderCommands],
  ['keys', async () => (await import('./keys.js')).keyCommands],
  ['quota', async () => (await import('./quotas/commands.js')).quotaCommands],
  ['ban', async () => (await import('./quotas/commands.js')).banCommands],
  ['db', async () => (await import('./db.js')).dbCommands],
  ['healthcheck', async () => [(await import('./healthcheck.js')).healthcheckCommand]],
  ['config', async () => [(await import('./config-print.js')).configCommand]],
  ['openapi', async () => [(await import('./openapi.js')).openApiCommand]],
]);

const HELP: ReadonlySet<string> = new Set(['--help', '-h']);
const VERSION: ReadonlySet<string> = new Set(['--version', '-v', 'version']);

/** Runs the program with these arguments and returns its exit code. */
export async function runProgram(args: readonly string[], environment: SettingSources['environment']): Promise<number> {
  const early = beforeOperands(args);
  // Found before the command is parsed, because the error of an unknown command is JSON too.
  const wantsJson = early.includes('--json');
  const others = [...early.filter((text) => text !== '--json'), ...args.slice(early.length)];
  const result = await runCommand(others, environment, wantsJson).catch((error) => {
    if (!(error instanceof Misuse)) throw error;
    return failed(error.message, 2);
  });
  if (result.exitCode !== 0) {
    const error = masked(result.message);
    // A failure of these writes is ignored, because the exit code already says that the command failed.
    await printError(error);
    if (wantsJson) await writeText(process.stdout, `${JSON.stringify({ error })}\n`).catch(() => {});
    return result.exitCode;
  }
  const output = wantsJson ? (result.json ?? result.text) : result.text;
  try {
    if (output !== undefined) await writeText(process.stdout, `${output}\n`);
    return 0;
  } catch (error) {
    await printError(['cannot write to stdout', messageOf(error), result.ifUnseen].filter(Boolean).join(': '));
    return 1;
  }
}

async function printError(message: string): Promise<void> {
  const lines = message.split('\n').map(printable).join('\n');
  const start = styleText('red', `${PROGRAM}:`, { stream: process.stderr });
  await writeText(process.stderr, `${start} ${lines}\n`).catch(() => {});
}

async function runCommand(
  args: readonly string[],
  environment: SettingSources['environment'],
  wantsJson: boolean,
): Promise<CommandResult> {
  if (VERSION.has(args[0] ?? '')) return versionResult();
  const isHelp = args[0] === 'help';
  const given = isHelp ? args.slice(1) : args;
  const wantsHelp = isHelp || beforeOperands(given).some((text) => HELP.has(text));
  const help = wantsHelp ? await import('./help.js') : undefined;
  const [first = '', second = ''] = given.map((text) => (text.startsWith('-') ? '' : text));
  if (help !== undefined && HELP.has(given[0] ?? '--help')) {
    return done(help.listHelp(await allCommands(), DEFAULT_COMMAND));
  }

  const commands = await GROUPS.get(first || DEFAULT_COMMAND)?.();
  const isGroup = commands?.some(({ name }) => name.includes(' ')) ?? false;
  if (commands !== undefined && isGroup && second === '') {
    if (help !== undefined) return done(help.listHelp(commands, DEFAULT_COMMAND, first));
    const known = commands.map(({ name }) => name.split(' ')[1] ?? '');
    const late = beforeOperands(given).findLast((text) => known.includes(text));
    if (late !== undefined) throw optionsTooEarly(`${first} ${late}`);
    const expected = `expected ${known.length > 1 ? 'one of ' : ''}${known.join(', ')}`;
    throw new Misuse(`missing command after "${first}"; ${expected}`);
  }
  const words = isGroup ? [first, second] : [first].filter(Boolean);
  const name = words.join(' ') || DEFAULT_COMMAND;
  const command = commands?.find((candidate) => candidate.name === name);
  if (command === undefined) throw unknownCommand(name, await allCommands(), isGroup ? [first] : []);
  if (help !== undefined) return done(help.commandHelp(command));
  const runtime = ['bun', 'deno'].find((key) => key in process.versions);
  if (runtime !== undefined) {
    return failed(
      `the program runs only in Node.js; in ${runtime}, mount fetchHandler of "store-orders/fetch" instead`,
    );
  }
  return command.run({ ...parseGiven(command, words, given, environment), wantsJson });
}

/** Parses the arguments after the words of the command. */
function parseGiven(
  command: Command,
  words: readonly string[],
  given: readonly string[],
  environment: SettingSources['environment'],
): Invocation {
  try {
    return parseCommand(command, given.slice(words.length), environment);
  } catch (error) {
    const late = words.length === 0 ? given.find((text) => GROUPS.has(text)) : undefined;
    if (late === undefined || !(error instanceof Misuse)) throw error;
    throw optionsTooEarly(late);
  }
}

function optionsTooEarly(words: string): Misuse {
  return new Misuse(`the options come after the command; write "${PROGRAM} ${words} ..." first`);
}

async function allCommands(): Promise<readonly Command[]> {
  return (await Promise.all(Array.from(GROUPS.values(), (load) => load()))).flat();
}

/** Returns the arguments before `--`. Those after it are operands, even if they begin with a dash. */
function beforeOperands(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end === -1 ? args : args.slice(0, end);
}

function unknownCommand(typed: string, commands: readonly Command[], group: readonly string[]): Misuse {
  // A second word also finds its command. The commands are reversed, so that the first of several
  // is suggested: for "list", "orders list".
  const names = new Map([...GROUPS.keys()].map((group) => [group, group]));
  for (const usual of ['start', 'run']) names.set(usual, DEFAULT_COMMAND);
  for (const { name } of commands.toReversed()) names.set(name, name).set(name.split(' ')[1] ?? name, name);
  const meant = names.get(nearest(typed, names.keys()) ?? '');
  const help = [PROGRAM, ...group, '--help'].join(' ');
  const advice = meant === undefined ? `run "${help}"` : `did you mean "${PROGRAM} ${meant}"?`;
  return new Misuse(`unknown command${quoted(typed)}; ${advice}`);
}

function versionResult(): CommandResult {
  const { version } = createRequire(import.meta.url)('store-orders/package.json');
  return done(String(version), { version });
}
