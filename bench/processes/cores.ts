import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * The processor core that a process runs on. A server and its load generator run on different
 * cores, if the system supports that.
 */
export type Core = 'server' | 'load' | 'any';
const CORES: Readonly<Record<Core, string>> = { server: '0', load: '1', any: '0,1' };

export const canPin = availableParallelism() > 1 && spawnSync('taskset', ['-p', `${process.pid}`]).status === 0;

/**
 * Returns a command that runs the given command, with all its threads, on the given core. Returns
 * the given command itself if the system cannot bind a process to a core.
 */
export function onCore(core: Core, command: string, parameters: readonly string[]): readonly [string, string[]] {
  return canPin ? ['taskset', ['-c', CORES[core], command, ...parameters]] : [command, [...parameters]];
}
