import { nextMessage, startProcess } from '../processes/child.js';

export interface CancelTask {
  readonly what: 'cancel';
  readonly url: string;
  /** How long to send. `Infinity` sends until the task is stopped. */
  readonly ms: number;
  readonly connections: number;
  /**
   * Cancels the ids `offset` + ((`index` × `stride`) modulo `range`), for each `index` from
   * `fromIndex` on that is below `range`.
   */
  readonly offset: number;
  readonly stride: number;
  readonly range: number;
  readonly fromIndex: number;
  /**
   * How many cancels a second all connections send together, evenly spaced. With 0, each connection
   * sends as soon as it has its response.
   */
  readonly perSecond: number;
}

export interface ListTask {
  readonly what: 'list';
  readonly url: string;
  readonly ms: number;
}

/** A client in its own process, so that it cannot delay the measurements of another client. */
export interface Client {
  /**
   * Resolves to the response times in milliseconds, in ascending order. The last response of each
   * connection counts, although it arrived after `ms` had passed. A task of cancels whose `ms` is
   * `Infinity` stops when `until` settles.
   */
  run(task: CancelTask | ListTask, until?: Promise<unknown>): Promise<readonly number[]>;
  stop(): void;
}

export function startClient(): Client {
  const child = startProcess('load/client-process.ts', 'load');
  return {
    async run(task, until) {
      // Messages between processes are JSON, which has no Infinity.
      child.send({ ...task, ms: Number.isFinite(task.ms) ? task.ms : Number.MAX_VALUE });
      const answer = nextMessage(child);
      if (until !== undefined) await until.finally(() => child.send('enough'));
      const durationsMs = await answer;
      if (!Array.isArray(durationsMs)) throw new Error(`${task.url}: ${durationsMs}`);
      return durationsMs.sort((a, b) => a - b);
    },
    stop: () => child.disconnect(),
  };
}
