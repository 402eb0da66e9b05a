import { emulatedMounts } from './emulated-mounts.js';
import { fetchMounts } from './fetch-mounts.js';
import { frameworkMounts } from './framework-mounts.js';
import type { Mount } from './mount.js';
import { nodeMounts } from './node-mounts.js';

export const MOUNTS: readonly Mount[] = [...nodeMounts, ...frameworkMounts, ...emulatedMounts, ...fetchMounts];
