import type { Worker } from 'node:cluster';

/**
 * Returns connections to the cluster module that were handed to a worker and that it had not accepted
 * when it ended. A worker accepts a connection before it reads from it, so another worker can serve
 * it. Otherwise its client would wait for ever: Node.js postpones the event `disconnect` of a process
 * while a handle that was sent to it is not acknowledged, and keeps the connection in the primary
 * process. If `hasOther` returns `false`, no worker could take the connection, so it is closed.
 *
 * This uses messages of the cluster module that are not documented. They were checked on Node.js
 * 20.20, 22.23, 24.22 and 26.12. Test: `primary.test.ts`, a connection that was handed over.
 */
export function takeBackAtEnd({ process: child }: Worker, hasOther: () => boolean): void {
  const unaccepted = new Set<unknown>();
  const send = child.send;
  Object.assign(child, {
    send(...values: Parameters<typeof send>) {
      const { cmd, act, seq }: ClusterMessage = Object(values[0]);
      if (cmd === 'NODE_CLUSTER' && act === 'newconn') unaccepted.add(seq);
      return Reflect.apply(send, child, values);
    },
  });
  child.on('internalMessage', (message: unknown) => {
    const { cmd, ack }: ClusterMessage = Object(message);
    if (cmd === 'NODE_CLUSTER') unaccepted.delete(ack);
  });
  child.once('close', () => {
    // First, the cluster module must know that this worker takes no more connections.
    child.emit('disconnect');
    const accepted = !hasOther();
    for (const ack of unaccepted) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted });
  });
}

type ClusterMessage = Readonly<Partial<Record<'cmd' | 'act' | 'seq' | 'ack', unknown>>>;
