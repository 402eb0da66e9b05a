import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A server of `servers/`, in a process of its own. */
export interface Child {
  readonly url: string;
  /** Sends it a message, and resolves to its answer. */
  ask(): Promise<unknown>;
  stop(): void;
}

/** Starts it on a core of its own where the system lets us say so. What threads it starts later may run anywhere. */
export async function startServer(name: string, ...parameters: readonly string[]): Promise<Child> {
  const file = fileURLToPath(new URL(`servers/${name}.ts`, import.meta.url));
  const child = fork(file, parameters, { execArgv: ['--import', 'tsx'] });
  const [address] = await once(child, 'message');
  spawnSync('taskset', ['-a', '-p', '-c', '0', String(child.pid)]);
  return {
    url: `http://127.0.0.1:${address.port}`,
    async ask() {
      child.send('');
      const [answer] = await once(child, 'message');
      return answer;
    },
    stop: () => void child.kill(),
  };
}
