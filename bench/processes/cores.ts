import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * The core of a process. Servers run on one core and their load on another, if the system supports
 * that.
 */
export type Core = 'server' | 'load' | 'any';
const CORES: Readonly<Record<Core, string>> = { server: '0', load: '1', any: '0,1' };

export const canPin = availableParallelism() > 1 && spawnSync('taskset', ['-p', `${process.pid}`]).status === 0;

/**
 * Returns a command that runs the given command on the given core, with all its threads from the
 * start.
 */
export function onCore(core: Core, command: string, parameters: readonly string[]): readonly [string, string[]] {
  return canPin ? ['taskset', ['-c', CORES[core], command, ...parameters]] : [command, [...parameters]];
}
