import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { API_KEY } from '../servers/orders.js';
import { type Core, onCore } from './cores.js';
import { isQuick } from './pace.js';

/** A process that runs one of the servers of `servers/`. */
export interface Child {
  readonly url: string;
  readonly apiKey: string;
  /**
   * Returns the processor time that all threads of the server have used so far, in microseconds.
   * `NaN` if the system does not report it.
   */
  cpuUs(): number;
  /** Sends a message to the server and resolves to its reply. */
  ask(message?: string): Promise<unknown>;
  stop(): void;
}

export async function startServer(name: string, ...parameters: readonly string[]): Promise<Child> {
  const child = startProcess(`servers/${name}.ts`, 'server', parameters, ['--expose-gc']);
  const address = await nextMessage(child);
  return {
    url: textOf(address, 'url') ?? `http://127.0.0.1:${textOf(address, 'port')}`,
    apiKey: textOf(address, 'apiKey') ?? API_KEY,
    cpuUs: () => cpuUsOf(textOf(address, 'pid') ?? `${child.pid}`),
    ask(message = '') {
      child.send(message);
      return nextMessage(child);
    },
    stop: () => void child.kill(),
  };
}

/** Runs a file of `bench/` with the Node.js of this process. */
export function startProcess(
  file: string,
  core: Core,
  parameters: readonly string[] = [],
  flags: readonly string[] = [],
): ChildProcess {
  const [execPath, execArgv] = onCore(core, process.execPath, [...flags, '--import', 'tsx']);
  return fork(fileURLToPath(new URL(`../${file}`, import.meta.url)), parameters, {
    execPath,
    execArgv,
    env: { ...process.env, NODE_ENV: 'production', ...(isQuick && { STORE_ORDERS_BENCH: 'quick' }) },
  });
}

export function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`${child.spawnargs.join(' ')}: ended with ${code}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message);
    });
  });
}

function textOf(message: unknown, field: string): string | undefined {
  const value: unknown = Reflect.get(Object(message), field);
  return value === undefined ? undefined : `${value}`;
}

/** Returns the same as {@link cpuUsOf}, for a process and the processes that it has started. */
export function cpuUsWithChildren(pid: string): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean);
  return [pid, ...children].reduce((sum, one) => sum + cpuUsOf(one), 0);
}

/**
 * Returns the processor time that all threads of a process have used so far, in microseconds. `NaN`
 * if the system does not report it.
 */
export function cpuUsOf(pid: string): number {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return Number.NaN;
  const usedNs = readdirSync(tasks).map((task) =>
    Number.parseInt(readFileSync(`${tasks}/${task}/schedstat`, 'utf8'), 10),
  );
  return usedNs.reduce((sum, ns) => sum + ns, 0) / 1_000;
}
