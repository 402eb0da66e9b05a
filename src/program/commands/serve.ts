import { fstatSync } from 'node:fs';
import { type CommandResult, failed } from '../command-result.js';
import { createLog, type Log } from '../log/log.js';
import { type Lifecycle, processLifecycle, workerLifecycle } from '../serve/lifecycle.js';
import { readSettings } from '../settings/read-settings.js';
import { SETTING_NAMES, type Settings } from '../settings/settings.js';
import { openServerStorage } from '../storage/open.js';
import { type Command, commandLine, type Invocation, settingOptions } from './command.js';

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Runs the server until SIGTERM, SIGINT or SIGHUP.',
  options: settingOptions(SETTING_NAMES),
  json: 'log JSON lines, as without a terminal',
  examples: ['serve --port 3000 --db shop.db', 'serve --config settings.json --log events'],
  run: serve,
};

/** How long the process waits for its last output, after everything else has stopped. */
const FLUSH_AT_EXIT_MS = 1_000;

async function serve(invocation: Invocation): Promise<CommandResult> {
  const { settings } = readSettings(invocation);
  // Without this listener, the server would end when the program that reads its log ends.
  process.stdout.on('error', () => {});
  const worker = workerLifecycle(invocation.environment);
  const isReadable = process.stdout.isTTY && !invocation.wantsJson;
  const log = createLog(process.stdout, isReadable, worker?.worker, fstatSync(process.stdout.fd).isFile());
  try {
    if (worker === undefined && settings.workers > 1) {
      const { runPrimary } = await import('../serve/workers/primary.js');
      return await runPrimary(settings, log);
    }
    const result = await openAndRun(invocation, settings, log, worker ?? processLifecycle(log));
    if (worker === undefined || result.exitCode === 0) return result;
    log.flush();
    return await worker.fail(result.message);
  } finally {
    // A log that nobody reads, or a connection that hangs, must not keep the process alive.
    setTimeout(() => process.exit(), FLUSH_AT_EXIT_MS).unref();
  }
}

async function openAndRun(
  invocation: Invocation,
  settings: Settings,
  log: Log,
  lifecycle: Lifecycle,
): Promise<CommandResult> {
  const opened = await openServerStorage(settings);
  if (!opened.ok) return failed(opened.message);
  // The modules of the server are loaded while the thread of the storage starts.
  const { runServer } = await import('../serve/run-server.js');
  return runServer(settings, opened, log, lifecycle, commandLine(invocation, 'keys create --plan free'));
}
