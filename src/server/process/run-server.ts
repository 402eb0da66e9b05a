import type { AddressInfo } from 'node:net';
import { createPlan, perMinute } from '../../limits/index.js';
import { type Command, failed, type Invocation, misused, type Outcome, settingOptions } from '../cli/command.js';
import { readSettings } from '../config/read-settings.js';
import { SETTING_NAMES, type Settings } from '../config/settings.js';
import { baseAddress } from '../listener/base-url.js';
import { boundConnections } from '../listener/connection-limit.js';
import { createOrderServer, type OrderServer } from '../listener/server.js';
import { createLog, type Log } from '../log/log.js';
import { logReplies, messageOf } from '../log/request-log.js';
import { type Counting, openCounting } from '../quotas/backend.js';
import { openServerStorage } from '../storage/open.js';
import { IN_MEMORY } from '../storage/sqlite.js';
import type { Storage } from '../storage/storage.js';
import { ownWorker, processSupervisor, type Supervisor } from './lifecycle.js';
import { runWorkers } from './primary.js';
import { adviseIfKeyless, introduce } from './seed.js';

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Runs the server until SIGTERM or SIGINT. With --json every line of its log is JSON.',
  operands: [],
  options: settingOptions(SETTING_NAMES),
  run: serve,
};

/** How long what is still to be written may take, when all else is done. */
const LAST_WORDS_MS = 1_000;

async function serve(invocation: Invocation): Promise<Outcome> {
  const read = readSettings(invocation);
  if (!read.ok) return misused(read.mistake);
  const { settings } = read;
  // Whoever read the log is gone: no reason to stop serving.
  process.stdout.on('error', () => {});
  const worker = ownWorker(invocation.environment);
  const readable = process.stdout.isTTY && !invocation.flags.has('json');
  const log = createLog(process.stdout, readable, worker === undefined ? {} : { worker: worker.number });
  try {
    if (worker === undefined && settings.workers > 1) return await runWorkers(settings.workers, log);
    const outcome = await runServer(settings, log, worker ?? processSupervisor(log));
    if (worker === undefined || outcome.outcome === 'done') return outcome;
    log.flush();
    return await worker.fail(outcome.message);
  } finally {
    log.flush();
    // Neither a log that nobody reads nor a connection whose other side is silent keeps the process from ending.
    setTimeout(() => process.exit(), LAST_WORDS_MS).unref();
  }
}

async function runServer(settings: Settings, log: Log, supervisor: Supervisor): Promise<Outcome> {
  const open = await openServerStorage(settings);
  if (!open.ok) return failed(open.message);
  const { data } = open;
  const stopLogging = logReplies(log, settings.log === 'events');
  try {
    const started = await start(data, settings, log, supervisor);
    if (!started.ok) {
      // Only now: what has been served from is nobody's to remove.
      await data.discard();
      return failed(started.message);
    }
    return await runUntilStop(data, started, log, supervisor);
  } finally {
    stopLogging();
  }
}

interface Started {
  readonly ok: true;
  readonly counting: Counting;
  readonly url: string;
  /** Resolves when it has been told to stop, and has drained. Listened for from the first moment on. */
  readonly drained: Promise<void>;
}

type StartOutcome = Started | { readonly ok: false; readonly message: string };

/** Everything up to the first answer. */
async function start(data: Storage, settings: Settings, log: Log, supervisor: Supervisor): Promise<StartOutcome> {
  const open = await openCounting(settings, data, log);
  if (!open.ok) return open;
  const { counting } = open;
  const started = await startCounted(data, counting, settings, supervisor);
  if (!started.ok) await counting.close();
  return started;
}

async function startCounted(
  data: Storage,
  counting: Counting,
  settings: Settings,
  supervisor: Supervisor,
): Promise<StartOutcome> {
  try {
    const server = createOrderServer({
      store: data.orders,
      limiter: counting.limiter,
      authenticate: data.keys.authenticate,
      basePath: settings.basePath,
      addressPlan: addressPlan(settings.addressPerMinute),
      trustProxy: settings.trustProxy,
      backends: { database: data.state, quotas: counting.state },
    });
    boundConnections(server);
    const refusal = await listen(server, settings);
    if (refusal !== undefined) return { ok: false, message: refusal };
    const drained = new Promise<void>((resolve) => {
      // In the same turn: a worker's connections are closed by the cluster module in the next.
      supervisor.onStop((why) => {
        supervisor.say('stopping', why);
        resolve(server.drain());
      });
    });
    const url = baseAddress(addressOf(server), settings.basePath);
    try {
      if (data.isNew && settings.sample) await introduce(data, url);
      if (!data.isNew && supervisor.isFirst) await adviseIfKeyless(data);
    } catch (error) {
      await server.drain(0);
      throw error;
    }
    data.neverBlock();
    return { ok: true, counting, url, drained };
  } catch (error) {
    return { ok: false, message: `${data.name}: ${messageOf(error)}` };
  }
}

async function runUntilStop(
  data: Storage,
  { counting, url, drained }: Started,
  log: Log,
  supervisor: Supervisor,
): Promise<Outcome> {
  supervisor.say('listening', {
    url,
    ...(data.name !== IN_MEMORY && { db: data.name }),
    ...(counting.name !== undefined && { redis: counting.name }),
  });

  await drained;
  await counting.close();
  try {
    await data.close();
  } catch (error) {
    log.error('database not closed', { error: messageOf(error) });
    // A thread that waits for a disk would keep Node from ending.
    process.once('exit', () => process.kill(process.pid, 'SIGKILL'));
  }
  supervisor.say('stopped');
  return { outcome: 'done' };
}

function addressPlan(quota: number) {
  return createPlan({ name: 'address', partition: 'address', policies: [perMinute(quota)] });
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
    // From then on it is about a connection that could not be accepted.
    server.listen(port, host, () => resolve(void server.on('error', () => {})));
  });
}

function addressOf(server: OrderServer): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server has no port');
  return address;
}
