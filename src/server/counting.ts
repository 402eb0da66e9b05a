import { createMemoryLimiter, createSystemClock, type RateLimiter } from '../limits/index.js';
import type { ProgramData } from './data/program-data.js';
import type { BackendState } from './health.js';
import type { Log } from './log.js';
import { withSavedQuotas } from './quotas.js';
import { messageOf } from './request-log.js';

/** Where a server counts. */
export interface Counting {
  readonly limiter: RateLimiter;
  state(): BackendState;
  /** Begins whatever is to be done now and then. Call it once. */
  start(log: Log): void;
  /** Ends that, and keeps what has been counted. */
  close(): Promise<void>;
}

const SAVE_EVERY_MS = 500;

/** In this process, saved with its data: a restart gives nobody a fresh day. Throws if what was saved cannot be read. */
export function countInMemory({ quotas: table }: ProgramData): Counting {
  if (table === undefined) throw new TypeError('the data has no place for quotas');
  const clock = createSystemClock();
  const limiter = withSavedQuotas({ limiter: createMemoryLimiter({ clock }), clock, table });
  let save = async () => {};
  let saving: NodeJS.Timeout | undefined;
  return {
    limiter,
    state: () => 'ok',

    start(log) {
      save = async () => {
        const saved = await limiter.save();
        if (!saved.ok) log.error('quotas not saved, to be tried again', { error: messageOf(saved.error) });
      };
      saving = setInterval(save, SAVE_EVERY_MS).unref();
    },

    async close() {
      clearInterval(saving);
      await save();
    },
  };
}
