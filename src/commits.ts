import { channel } from 'node:diagnostics_channel';

/**
 * The name of the `node:diagnostics_channel` on which the stores publish how many writes were
 * committed together, as `{ writes }`.
 */
export const COMMIT_CHANNEL = 'store-orders:commit';

const commits = channel(COMMIT_CHANNEL);

/** Publishes how many writes a commit contained. */
export function publishCommit(writes: number): void {
  if (commits.hasSubscribers) commits.publish({ writes });
}
