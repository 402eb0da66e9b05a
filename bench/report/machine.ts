import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { canPin } from '../processes/cores.js';

/**
 * Describes the conditions of the measurement: the machine, Node.js, and the versions of the given
 * packages in `package-lock.json`.
 */
export function machine(packages: readonly string[]): string {
  const date = new Date().toISOString().slice(0, 10);
  const cores = `${cpus().length} × ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  const places = canPin ? 'Servers ran on one core, the load generator on another' : 'No process was bound to a core';
  const { packages: locked } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
  const versions = packages.map((name) => `${name} ${locked[`node_modules/${name}`]?.version}`);
  return [
    `${date}, Node.js ${process.version}, ${process.platform} ${process.arch}, ${cores}.`,
    `${places}; load by wrk.`,
    ...(versions.length > 0 ? [`${versions.join(', ')}.`] : []),
  ].join(' ');
}
