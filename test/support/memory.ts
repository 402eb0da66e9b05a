import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export const MIB = 2 ** 20;

export function mebibytes(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}

/**
 * Returns the peak memory of a process since its start, or since the last {@link forgetPeak}.
 * Returns 0 if the system does not report it.
 */
export function peakBytes(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  const kibibytes = existsSync(file) ? /VmHWM:\s+(\d+)/.exec(readFileSync(file, 'utf8'))?.[1] : undefined;
  return Number(kibibytes ?? 0) * 1024;
}

export function forgetPeak(pid: number | undefined): void {
  const file = `/proc/${pid}/clear_refs`;
  if (existsSync(file)) writeFileSync(file, '5');
}

export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}
