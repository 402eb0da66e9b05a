// Preloaded into a server by tests of slow disks. At exit, reports the longest stall of its event
// loop in each tenth of a second. This file is plain JavaScript, because the server and its threads
// run without a loader for TypeScript.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const WINDOW_MS = 100;

if (isMainThread) {
  /** @type {number[]} */
  const longestMs = [];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  setInterval(() => {
    longestMs.push(delay.max / 1e6);
    delay.reset();
  }, WINDOW_MS).unref();
  process.once('exit', () => process.stderr.write(`${JSON.stringify({ longestMs })}\n`));
}
