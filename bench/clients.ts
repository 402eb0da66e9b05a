import { nextMessage, startProcess } from './child.js';

export interface CancelTask {
  readonly what: 'cancel';
  readonly url: string;
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
  /** Resolves with how long each answer took, in milliseconds, ascending. */
  run(task: CancelTask | ListTask): Promise<readonly number[]>;
  stop(): void;
}

export function startClient(): Client {
  const child = startProcess('client-process.ts', 'load');
  return {
    async run(task) {
      child.send(task);
      const durationsMs = await nextMessage(child);
      if (!Array.isArray(durationsMs)) throw new Error(`${task.url}: ${durationsMs}`);
      return durationsMs.sort((a, b) => a - b);
    },
    stop: () => child.disconnect(),
  };
}
