import { channel } from 'node:diagnostics_channel';

/** The `node:diagnostics_channel` on which the stores publish each commit, as `{ writes: number }`. */
export const COMMIT_CHANNEL = 'store-orders:commit';

const commits = channel(COMMIT_CHANNEL);

export function publishCommit(writes: number): void {
  commits.publish({ writes });
}
