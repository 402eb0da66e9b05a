import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createPlan } from 'store-orders/limiter';
import { createRedisLimiter, type LimiterModeMessage } from 'store-orders/redis';
import { startLoad } from './load.js';
import type { LoadingOptions, LoadingResult } from './loading.js';
import { connect } from './server.js';

/**
 * A process that sends requests at a steady rate to an order service, whose limiter uses a server
 * that will fail. At the same rate it sends requests to a second order service, whose limiter uses
 * a server that does not fail. The second service shows the delays that the machine itself causes.
 * The process reports each change of the first limiter's mode. It starts and stops on command.
 * Parameter: LoadingOptions as JSON.
 */
const options: LoadingOptions = JSON.parse(process.argv[2] ?? '');
const { port, soundPort, prefix, onBackendError, deadlineMs, quota, keys, perSecond } = options;
const originMs = performance.timeOrigin;
const plan = createPlan({ name: 'hourly', policies: [{ name: 'hour', quota, windowMs: 3_600_000 }] });
const plenty = createPlan({ name: 'plenty', policies: [{ name: 'hour', quota: 1e9, windowMs: 3_600_000 }] });
const [client, sound] = [connect(port), connect(soundPort)];
const limiter = createRedisLimiter({ send: (command) => client.call(...command), onBackendError, prefix, deadlineMs });
const control = createRedisLimiter({ send: (command) => sound.call(...command), deadlineMs: 10_000 });
const told = async () => String((await once(process, 'message'))[0]);

subscribe('store-orders:limiter', (message) => {
  const { mode, prefix: whose } = message as LimiterModeMessage;
  if (whose === prefix) process.send?.({ mode, atMs: originMs + performance.now() });
});

await Promise.all([control.peek('warm', plenty), Promise.resolve(limiter.peek('warm', plan)).catch(() => {})]);
process.send?.({ mode: limiter.mode, atMs: originMs + performance.now() });
// On a busy machine the first request may be so slow that the limiter stops using its server.
// Reading `limiter.mode` makes the limiter try the server again, so a timer reads it.
const asking = setInterval(() => limiter.mode, 5);
await told();

const stalls = monitorEventLoopDelay({ resolution: 5 });
stalls.enable();
const [load, beside] = [startLoad(limiter, plan, keys, perSecond), startLoad(control, plenty, keys, perSecond)];
await told();
await Promise.all([load.stop(), beside.stop()]);
stalls.disable();
const answered = load.answered.map((answer) => ({
  ...answer,
  startedMs: originMs + answer.startedMs,
  endedMs: originMs + answer.endedMs,
}));
const soundMs = beside.answered.map(({ startedMs, endedMs }) => endedMs - startedMs);
process.send?.({ answered, soundMs, stallMs: stalls.max / 1e6 } satisfies LoadingResult);
await once(process, 'disconnect');
clearInterval(asking);
client.disconnect();
sound.disconnect();
