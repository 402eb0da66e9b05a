import { nextMessage, startProcess } from '../processes/child.js';

export interface CancelTask {
  readonly what: 'cancel';
  readonly url: string;
  /** How long to send requests. With `Infinity`, the client sends until it is told to stop. */
  readonly ms: number;
  readonly connections: number;
  /**
   * The orders to cancel have the ids `offset` + ((`index` × `stride`) modulo `range`). `index`
   * begins with `fromIndex` and grows by one until it reaches `range`.
   */
  readonly offset: number;
  readonly stride: number;
  readonly range: number;
  readonly fromIndex: number;
  /**
   * The number of cancels per second on all connections together, evenly spaced. With 0, each
   * connection sends its next request as soon as it has its response.
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
   * Runs the task. Resolves to the response times in milliseconds, in ascending order. They include
   * the last response of each connection, which arrives after `ms` has passed. A cancel task whose
   * `ms` is `Infinity` runs until the promise `until` settles.
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
