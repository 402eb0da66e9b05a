import { nextMessage, startProcess } from '../processes/child.js';

export interface CancelTask {
  readonly what: 'cancel';
  readonly url: string;
  /** `Infinity`: until told. */
  readonly ms: number;
  readonly connections: number;
  /** One after the other: `offset` + `index` × `stride` modulo `range`. */
  readonly offset: number;
  readonly stride: number;
  readonly range: number;
  readonly fromIndex: number;
  /** Of all connections together, evenly; 0: each as soon as it has its answer. */
  readonly perSecond: number;
}

export interface ListTask {
  readonly what: 'list';
  readonly url: string;
  readonly ms: number;
}

/** A client in a process of its own: what one does must not delay what another measures. */
export interface Client {
  /**
   * Resolves with how long each answer took, in milliseconds, ascending: of cancels also the last one of each connection, which
   * came when the time was over. A cancel task without end ends with `until`.
   */
  run(task: CancelTask | ListTask, until?: Promise<unknown>): Promise<readonly number[]>;
  stop(): void;
}

export function startClient(): Client {
  const child = startProcess('load/client-process.ts', 'load');
  return {
    async run(task, until) {
      // JSON has no Infinity.
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
