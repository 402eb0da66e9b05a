import { channel } from 'node:diagnostics_channel';

/**
 * The `node:diagnostics_channel` on which the stores publish each commit after it is done, as
 * `{ writes: number }`: the number of calls whose outcomes it made durable.
 */
export const COMMIT_CHANNEL = 'store-orders:commit';

const commits = channel(COMMIT_CHANNEL);

export function publishCommit(writes: number): void {
  commits.publish({ writes });
}
