import { withoutHosts } from '../../../support/installed.js';
import { emulatedMounts } from './emulated-mounts.js';
import { frameworkMounts } from './framework-mounts.js';
import type { Mount } from './mount.js';
import { nodeMounts } from './node-mounts.js';

export const MOUNTS: readonly Mount[] = [...nodeMounts, ...frameworkMounts, ...emulatedMounts];

/** Returns the hosts whose frameworks are packages of `test/hosts`. Returns none if these are not installed. */
export async function furtherMounts(): Promise<readonly Mount[]> {
  return withoutHosts ? [] : (await import('./further-mounts.js')).furtherMounts;
}
