import { createRequire } from 'node:module';
import { writeText } from '../log/write-text.js';
import { type Command, done, misused, type Outcome, parseCommand } from './command.js';
import { dbCommands } from './db.js';
import { commandHelp, listHelp } from './help.js';
import { keyCommands } from './keys.js';
import { openApiCommand } from './openapi.js';
import { orderCommands } from './orders.js';
import { quotaCommands } from './quotas.js';
import { serveCommand } from './serve.js';

const COMMANDS: readonly Command[] = [
  serveCommand,
  ...orderCommands,
  ...keyCommands,
  ...quotaCommands,
  ...dbCommands,
  openApiCommand,
];
const GROUPS = new Set(COMMANDS.filter(({ name }) => name.includes(' ')).map(({ name }) => name.split(' ')[0]));
const EXIT_CODES = { done: 0, failed: 1, misused: 2 } as const;

/** Runs the program with these arguments, and answers with its exit code. */
export async function runProgram(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const outcome = await runCommand(args, environment);
  const wantsJson = args.includes('--json');
  if (outcome.outcome !== 'done') {
    await writeText(process.stderr, `store-orders: ${outcome.message}\n`);
    if (wantsJson) await writeText(process.stdout, `${JSON.stringify({ error: outcome.message })}\n`);
  } else {
    const answer = wantsJson ? (outcome.json ?? outcome.text) : outcome.text;
    if (answer !== undefined) await writeText(process.stdout, `${answer}\n`);
  }
  return EXIT_CODES[outcome.outcome];
}

async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Outcome> {
  const [first = 'serve', second] = args;
  if (first === '--help' || first === '-h') return { outcome: 'done', text: listHelp(COMMANDS) };
  if (first === '--version') return version();
  if (GROUPS.has(first) && (second === undefined || second === '--help' || second === '-h')) {
    const commands = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
    if (second !== undefined) return { outcome: 'done', text: listHelp(commands, first) };
    return misused(`${first}: expected one of ${commands.map(({ name }) => name.split(' ')[1]).join(', ')}`);
  }
  const words = first.startsWith('-') ? [] : GROUPS.has(first) ? args.slice(0, 2) : args.slice(0, 1);
  const name = words.length === 0 ? 'serve' : words.join(' ');
  const command = COMMANDS.find((candidate) => candidate.name === name);
  // A URL may have a password in it.
  if (command === undefined) {
    return misused(`${name.includes('://') ? '' : `${name}: `}there is no such command; --help lists them`);
  }

  const parsed = parseCommand(command, args.slice(words.length), environment);
  if (!parsed.ok) return misused(`${parsed.message}; see store-orders ${name} --help`);
  if (parsed.invocation.flags.has('help')) return { outcome: 'done', text: commandHelp(command) };
  return command.run(parsed.invocation);
}

function version(): Outcome {
  const { version } = createRequire(import.meta.url)('store-orders/package.json');
  return done(String(version), { version });
}
