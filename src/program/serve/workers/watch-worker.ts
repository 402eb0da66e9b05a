import type { Worker } from 'node:cluster';
import { isWorkerMessage } from '../lifecycle.js';

const INTERVAL_MS = 7_000;
/** How many questions in turn may stay without an answer. */
const MOST_UNANSWERED = 3;

/**
 * Asks a worker every seven seconds whether it responds. Calls `onSilence` once if it has not
 * answered three questions in turn, because it is stopped or its event loop is busy for ever.
 * Questions are counted, not seconds, so that a machine that was suspended does not lose its
 * workers. Returns a function that ends the watch.
 */
export function watchWorker(worker: Worker, onSilence: () => void): () => void {
  let unanswered = 0;
  const timer = setInterval(() => {
    if (unanswered === MOST_UNANSWERED) {
      clearInterval(timer);
      onSilence();
      return;
    }
    unanswered++;
    worker.send('respond', () => {});
  }, INTERVAL_MS);
  worker.on('message', (message: unknown) => {
    if (isWorkerMessage(message) && 'responds' in message) unanswered = 0;
  });
  return () => clearInterval(timer);
}
