import { readSettings } from '../config/read-settings.js';
import { SETTING_NAMES } from '../config/settings.js';
import { createLog } from '../log/log.js';
import { misused, type Outcome } from '../outcome.js';
import { checkHealth } from '../process/healthcheck.js';
import { processLifecycle, workerLifecycle } from '../process/lifecycle.js';
import { runPrimary } from '../process/primary.js';
import { runServer } from '../process/run-server.js';
import { type Command, type Invocation, settingOptions } from './command.js';

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Runs the server until SIGTERM or SIGINT. With --json every line of its log is JSON.',
  operands: [],
  options: settingOptions(SETTING_NAMES),
  run: serve,
};

export const healthcheckCommand: Command = {
  name: 'healthcheck',
  summary:
    'Exits with 0 if the server with these settings answers, as health checks of containers ask, and with 1 if not.',
  operands: [],
  options: {
    ready: { about: 'ask whether it takes requests (/readyz) and not whether it runs (/healthz)' },
    ...settingOptions(['host', 'port']),
  },
  examples: ['healthcheck', 'healthcheck --ready --port 3000'],
  run: healthcheck,
};

async function healthcheck(invocation: Invocation): Promise<Outcome> {
  const read = readSettings(invocation, ['host', 'port']);
  return read.ok ? checkHealth(read.settings, invocation.flags.has('ready')) : misused(read.mistake);
}

/** How long output may still take to be written once everything else is done. */
const LAST_WORDS_MS = 1_000;

async function serve(invocation: Invocation): Promise<Outcome> {
  const read = readSettings(invocation);
  if (!read.ok) return misused(read.mistake);
  const { settings } = read;
  // The server goes on when the reader of its log is gone.
  process.stdout.on('error', () => {});
  const worker = workerLifecycle(invocation.environment);
  const readable = process.stdout.isTTY && !invocation.flags.has('json');
  const log = createLog(process.stdout, readable, worker === undefined ? {} : { worker: worker.number });
  try {
    if (worker === undefined && settings.workers > 1) return await runPrimary(settings.workers, log);
    const outcome = await runServer(settings, log, worker ?? processLifecycle(log));
    if (worker === undefined || outcome.outcome === 'done') return outcome;
    log.flush();
    return await worker.fail(outcome.message);
  } finally {
    log.flush();
    // Neither an unread log nor a silent peer keeps the process from ending.
    setTimeout(() => process.exit(), LAST_WORDS_MS).unref();
  }
}
