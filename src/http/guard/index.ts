export { type Announcement, announcementFields } from './deprecation.js';
export { createGuard, type Guard, type GuardOutcome } from './guard.js';
export { fetchGuard, nodeGuard, principalOf } from './mounts.js';
