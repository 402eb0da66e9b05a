import { addressPerMinute, type ReplyMessage } from '../../http/index.js';
import { messageOf } from '../../message-of.js';
import { createOrderServer, type OrderServerOptions } from '../../server/index.js';
import { type CommandResult, failed } from '../command-result.js';
import type { Log } from '../log/log.js';
import { openQuotaBackend, type QuotaBackend } from '../quotas/backend.js';
import type { Settings } from '../settings/settings.js';
import { IN_MEMORY } from '../storage/sqlite.js';
import type { OpenedStorage, ServerStorage } from '../storage/storage.js';
import { withBackendEvents } from './backend-events.js';
import { baseAddress, isLoopback, localAddress } from './base-url.js';
import { greet } from './greet.js';
import type { Lifecycle } from './lifecycle.js';
import { addressOf, listen } from './listen.js';
import type { Metrics } from './metrics.js';
import { listenForMetrics, loadMetrics } from './metrics-port.js';

/**
 * Runs the server until its lifecycle stops it. Then closes what it has opened, in reverse order,
 * and the storage last. If the server fails before it has stored anything, removes a storage that
 * was created for it. `createKeyCommand` is the command line that creates a key.
 */
export async function runServer(
  settings: Settings,
  { storage, created }: OpenedStorage<ServerStorage>,
  log: Log,
  lifecycle: Lifecycle,
  createKeyCommand: string,
): Promise<CommandResult> {
  const { host, port, metricsPort } = settings;
  const cleanUps: (() => unknown)[] = [];

  async function serve(): Promise<void> {
    const metricsModule = metricsPort === undefined ? undefined : await loadMetrics();
    const quotaBackend = await openQuotaBackend(settings.redisUrl, storage.quotas, log);
    cleanUps.push(quotaBackend.close);
    const database = withBackendEvents(storage.state, log);
    cleanUps.push(database.close);
    const backends = { database: database.state, quotas: quotaBackend.state };
    const metrics = metricsModule?.createMetrics(backends, log, quotaBackend.mode);
    const server = createOrderServer({
      ...optionsOf(settings, storage, quotaBackend),
      ...listenersOf(settings, log, metrics, database.suspect),
      backends,
    });
    await listen(server, { host, port, flag: '--port' });
    cleanUps.push(() => server.drain());
    // The primary of several workers serves the metrics of all of them.
    if (metrics !== undefined) lifecycle.shareMetrics?.(metrics.read);
    const isAlone = lifecycle.worker === undefined;
    const metricsPage =
      metrics !== undefined && isAlone ? await listenForMetrics(metrics.serialize, host, metricsPort) : undefined;
    if (metricsPage !== undefined) cleanUps.push(metricsPage.close);
    const drained = new Promise<void>((resolve) => {
      // `drain` must be called in this pass of the event loop, because the cluster module closes
      // the connections of a worker in the next pass.
      lifecycle.onStop((reason) => {
        lifecycle.report('stopping', reason);
        database.close();
        resolve(server.drain());
      });
    });

    const address = addressOf(server);
    const url = address && baseAddress(address, settings.basePath);
    const publicAddress = settings.publicUrl ?? (address && localAddress(baseAddress(address, '')));
    const isInMemory = storage.name === IN_MEMORY;
    if (isAlone || lifecycle.worker === 1) {
      await greet(storage, {
        address: publicAddress,
        basePath: settings.basePath,
        createKeyCommand: isInMemory ? undefined : createKeyCommand,
        hasSample: settings.sample && created !== undefined,
        // If other machines can reach the server, demo keys are shown only on a terminal, because
        // the log of a service must not contain them. A unix socket counts as reachable, because it
        // usually has a proxy in front.
        showsKeys: process.stderr.isTTY || (address !== undefined && isLoopback(address.address)),
      });
    }
    lifecycle.report('listening', {
      url,
      docs: publicAddress && `${publicAddress}/docs`,
      socket: typeof port === 'string' ? port : undefined,
      db: isInMemory ? undefined : storage.name,
      redis: settings.redisUrl?.name,
      metrics: metricsPage?.url,
    });
    await drained;
  }

  const result = await serve().then(
    (): CommandResult => ({ exitCode: 0 }),
    (error) => failed(messageOf(error)),
  );
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  try {
    await storage.close();
    if (result.exitCode !== 0) created?.remove();
  } catch (error) {
    log.error('database not closed', { error: messageOf(error) });
    // Node.js would not exit while a thread waits for a disk.
    process.once('exit', () => process.kill(process.pid, 'SIGKILL'));
  }
  if (result.exitCode === 0) lifecycle.report('stopped');
  return result;
}

function optionsOf(settings: Settings, { orders, keys }: ServerStorage, { limiter }: QuotaBackend) {
  return {
    store: orders,
    limiter,
    authenticate: keys.authenticate,
    authenticateKnown: keys.authenticateKnown,
    basePath: settings.basePath,
    publicUrl: settings.publicUrl,
    addressPlan: addressPerMinute(settings.addressPerMinute),
    trustProxy: settings.trustProxy,
    // Clients of a unix socket have no address, so all would share the limit of one.
    maxConnectionsPerAddress: typeof settings.port === 'string' ? 0 : settings.maxConnectionsPerAddress,
    corsOrigins: settings.corsOrigins,
  } satisfies OrderServerOptions;
}

/**
 * Returns what the program does with its replies. Where nobody wants a message, none is created.
 * `suspect` is called after each reply that has an error.
 */
function listenersOf(settings: Settings, log: Log, metrics: Metrics | undefined, suspect: () => void) {
  const logsAll = settings.log === 'requests';
  const onReply = (message: ReplyMessage) => {
    metrics?.count(message);
    if (logsAll) log.request(message);
  };
  const onFailure = (message: ReplyMessage) => {
    suspect();
    if (!logsAll) log.request(message);
  };
  return { onReply: logsAll || metrics !== undefined ? onReply : undefined, onFailure };
}
