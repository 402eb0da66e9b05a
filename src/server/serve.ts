import type { AddressInfo } from 'node:net';
import { createMemoryLimiter, createPlan, createSystemClock, perMinute } from '../limits/index.js';
import { baseAddress } from './base-address.js';
import { type Command, failed, type Invocation, misused, type Outcome, settingOptions } from './command.js';
import { readSettings, SETTING_NAMES, type Settings } from './config.js';
import { IN_MEMORY, openNamedDatabase, type ProgramDatabase, waitForLocks } from './database.js';
import { introduce } from './first-run.js';
import { createKeyRing } from './key-ring.js';
import { createLog, type Log } from './log.js';
import { type SavedLimiter, withSavedQuotas } from './quotas.js';
import { logReplies, messageOf } from './request-log.js';
import { createOrderServer, type OrderServer } from './server.js';
import { takeServerPlace } from './server-place.js';
import { firstSignal } from './signals.js';

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Runs the server until SIGTERM or SIGINT. With --json every line of its log is JSON.',
  operands: [],
  options: settingOptions(SETTING_NAMES),
  run: serve,
};

const SAVE_EVERY_MS = 500;

async function serve(invocation: Invocation): Promise<Outcome> {
  const read = readSettings(invocation);
  if (!read.ok) return misused(read.mistake);
  const { settings } = read;
  const open = openNamedDatabase(settings.db, { create: true, threaded: true });
  if (!open.ok) return failed(open.message);
  const leave = settings.db === IN_MEMORY ? () => {} : takeServerPlace(settings.db);
  if (leave === undefined) {
    await open.opened.close();
    return failed(`another server runs on ${settings.db}; stop it first, or name another file with --db`);
  }
  const { opened } = open;
  // Whoever read the log is gone: no reason to stop serving.
  process.stdout.on('error', () => {});
  const log = createLog(process.stdout, process.stdout.isTTY && !invocation.flags.has('json'));
  const stopLogging = logReplies(log, settings.log === 'events');
  try {
    const started = await start(opened, settings);
    if (!started.ok) {
      // Only now: a file that has been served from is nobody's to remove.
      await opened.discard();
      return failed(started.message);
    }
    return await runUntilSignal(opened, started, log);
  } finally {
    leave();
    stopLogging();
    log.flush();
  }
}

interface Started {
  readonly ok: true;
  readonly server: OrderServer;
  readonly limiter: SavedLimiter;
  readonly url: string;
  /** Listened for from the first moment on. */
  readonly signal: Promise<NodeJS.Signals>;
}

type StartOutcome = Started | { readonly ok: false; readonly message: string };

/** Everything up to the first answer. */
async function start(opened: ProgramDatabase, settings: Settings): Promise<StartOutcome> {
  try {
    const { database, orders: store } = opened;
    const ring = createKeyRing(database);
    const clock = createSystemClock();
    const limiter = withSavedQuotas({ limiter: createMemoryLimiter({ clock }), clock, opened });
    const server = createOrderServer({
      store,
      limiter,
      authenticate: ring.authenticate,
      basePath: settings.basePath,
      addressPlan: addressPlan(settings.addressPerMinute),
      trustProxy: settings.trustProxy,
      isReady: () => canRead(opened),
    });
    const refusal = await listen(server, settings);
    if (refusal !== undefined) return { ok: false, message: refusal };
    const signal = firstSignal();
    const url = baseAddress(addressOf(server), settings.basePath);
    try {
      if (opened.isNew && settings.sample) await introduce(opened, ring, url);
    } catch (error) {
      await server.drain(0);
      throw error;
    }
    // From here on a lock of another process must not stop the event loop: what meets one is tried again.
    waitForLocks(database, 0);
    return { ok: true, server, limiter, url, signal };
  } catch (error) {
    return { ok: false, message: `${opened.file}: ${messageOf(error)}` };
  }
}

async function runUntilSignal(
  opened: ProgramDatabase,
  { server, limiter, url, signal }: Started,
  log: Log,
): Promise<Outcome> {
  const saving = setInterval(() => save(limiter, log), SAVE_EVERY_MS).unref();
  log.event('listening', { url, ...(opened.file !== IN_MEMORY && { db: opened.file }) });

  log.event('stopping', { signal: await signal });
  await server.drain();
  clearInterval(saving);
  await save(limiter, log);
  await opened.close();
  log.event('stopped');
  return { outcome: 'done' };
}

function addressPlan(quota: number) {
  return createPlan({ name: 'address', partition: 'address', policies: [perMinute(quota)] });
}

function canRead({ database }: ProgramDatabase): boolean {
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return true;
  } catch {
    return false;
  }
}

async function save(limiter: SavedLimiter, log: Log): Promise<void> {
  const saved = await limiter.save();
  if (!saved.ok) log.error('quotas not saved, to be tried again', { error: messageOf(saved.error) });
}

/** Why it cannot listen, `undefined` when it does. */
function listen(server: OrderServer, { host, port }: Settings): Promise<string | undefined> {
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(
        error.code === 'EADDRINUSE'
          ? `port ${port} of ${host} is taken; choose another with --port, 0 for any free one`
          : `cannot listen on port ${port} of ${host}: ${error.code ?? error.message}`,
      );
    });
    server.listen(port, host, () => resolve(undefined));
  });
}

function addressOf(server: OrderServer): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server has no port');
  return address;
}
