import { messageOf } from '../../message-of.js';
import { type BackendState, readBackend } from '../../server/index.js';
import type { EventLog } from '../log/log.js';

/** How soon a backend is asked that may have failed, and again while it fails. */
const ASK_AGAIN_MS = 1_000;

/**
 * Logs when the database fails, with the reason, and when it works again.
 * `suspect` is to be called after a failed request: it asks too, so that the log shows a failure of
 * which no probe and no scrape of the metrics learns. While the database fails, it is asked once a
 * second.
 */
export function withBackendEvents(check: () => BackendState | Promise<BackendState>, log: EventLog) {
  let reading: Promise<BackendState> | undefined;
  let askTimer: NodeJS.Timeout | undefined;
  let hasFailed = false;
  let isClosed = false;

  async function read(): Promise<BackendState> {
    const { state, error } = await readBackend(check);
    reading = undefined;
    if (isClosed) return state;
    if (state !== 'unavailable' && hasFailed) log.event('database works again');
    if (state === 'unavailable' && !hasFailed) log.error('database unavailable', { error: messageOf(error) });
    hasFailed = state === 'unavailable';
    if (hasFailed) suspect();
    return state;
  }

  /** Returns the state. Calls at the same time share one answer, so none is older than another. */
  function state(): Promise<BackendState> {
    reading ??= read();
    return reading;
  }

  function suspect(): void {
    if (isClosed) return;
    askTimer ??= setTimeout(() => {
      askTimer = undefined;
      void state();
    }, ASK_AGAIN_MS).unref();
  }

  return {
    state,
    suspect,
    close(): void {
      isClosed = true;
      clearTimeout(askTimer);
    },
  };
}
