export { createManualClock, type ManualClock } from './clock.js';
