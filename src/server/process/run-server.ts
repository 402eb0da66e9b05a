import type { AddressInfo } from 'node:net';
import { addressPerMinute } from '../../http/admission.js';
import type { Settings } from '../config/settings.js';
import { baseAddress, isLoopback } from '../listener/base-url.js';
import { createOrderServer, type OrderServer } from '../listener/server.js';
import type { Log } from '../log/log.js';
import { messageOf } from '../log/message-of.js';
import { logReplies } from '../log/request-log.js';
import { failed, type Outcome } from '../outcome.js';
import { openCounting } from '../quotas/backend.js';
import { openServerStorage } from '../storage/open.js';
import { IN_MEMORY } from '../storage/sqlite.js';
import type { Lifecycle } from './lifecycle.js';
import { guideOn, introduce } from './seed.js';

/**
 * Runs the server until its lifecycle stops it, then closes everything in reverse order.
 * `createKey` is the command line that creates a key.
 */
export async function runServer(
  settings: Settings,
  log: Log,
  lifecycle: Lifecycle,
  createKey: string,
): Promise<Outcome> {
  const open = await openServerStorage(settings);
  if (!open.ok) return failed(open.message);
  const { data } = open;
  let hasServed = false;
  const cleanUps: (() => unknown)[] = [
    logReplies(log, settings.log === 'events'),
    // Even a new database is kept once it has served.
    () => (hasServed ? closeStorage() : data.discard()),
  ];

  async function closeStorage(): Promise<void> {
    try {
      await data.close();
    } catch (error) {
      log.error('database not closed', { error: messageOf(error) });
      // A thread that waits for a disk would keep Node.js from exiting.
      process.once('exit', () => process.kill(process.pid, 'SIGKILL'));
    }
  }

  async function serve(): Promise<Outcome> {
    const opened = await openCounting(settings, data, log);
    if (!opened.ok) return failed(opened.message);
    const { counting } = opened;
    cleanUps.push(counting.close);

    const server = createOrderServer({
      store: data.orders,
      limiter: counting.limiter,
      authenticate: data.keys.authenticate,
      isKnownKey: data.keys.isKnownKey,
      basePath: settings.basePath,
      addressPlan: addressPerMinute(settings.addressPerMinute),
      trustProxy: settings.trustProxy,
      maxConnectionsPerAddress: settings.maxConnectionsPerAddress,
      backends: { database: data.state, quotas: counting.state },
    });
    const refusal = await listen(server, settings);
    if (refusal !== undefined) return failed(refusal);
    cleanUps.push(() => server.drain(0));
    const drained = new Promise<void>((resolve) => {
      // In the same turn, because in the next one the cluster module closes a worker's connections.
      lifecycle.onStop((reason) => {
        lifecycle.report('stopping', reason);
        resolve(server.drain());
      });
    });

    const address = addressOf(server);
    const url = baseAddress(address, settings.basePath);
    // A service's log must not contain demo keys that other machines could use.
    const showsKeys = process.stderr.isTTY || isLoopback(address.address);
    const guide = { url, ...(data.name !== IN_MEMORY && { createKey }) };
    if (data.isNew && settings.sample) await introduce(data, guide, showsKeys);
    if (!data.isNew && lifecycle.isFirst) await guideOn(data, guide);
    data.neverBlock();
    hasServed = true;
    lifecycle.report('listening', {
      url,
      ...(data.name !== IN_MEMORY && { db: data.name }),
      ...(counting.name !== undefined && { redis: counting.name }),
    });
    await drained;
    return { outcome: 'done' };
  }

  const failedBy = (error: unknown) => failed(`${data.name}: ${messageOf(error)}`);
  let outcome = await serve().catch(failedBy);
  for (const cleanUp of cleanUps.reverse()) {
    try {
      await cleanUp();
    } catch (error) {
      outcome = failedBy(error);
    }
  }
  if (outcome.outcome === 'done') lifecycle.report('stopped');
  return outcome;
}

/** Resolves with the reason why the server cannot listen, or with `undefined` once it listens. */
function listen(server: OrderServer, { host, port }: Settings): Promise<string | undefined> {
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(
        error.code === 'EADDRINUSE'
          ? `port ${port} on ${host} is in use; choose another with --port, or 0 for a free one`
          : `cannot listen on port ${port} on ${host}: ${error.code ?? error.message}`,
      );
    });
    // Later errors concern connections that could not be accepted.
    server.listen(port, host, () => resolve(void server.on('error', () => {})));
  });
}

function addressOf(server: OrderServer): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server has no port');
  return address;
}
