export type { AdmissionOptions } from '../admission.js';
export { announcementFields } from './deprecation.js';
export { createGuard, type Guard } from './guard.js';
export { fetchGuard, nodeGuard, principalOf } from './mounts.js';
