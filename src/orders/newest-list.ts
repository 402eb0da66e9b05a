import { AsyncResource } from 'node:async_hooks';
import type { MaybePromise, OrderPages } from './store.js';

/**
 * A list shows a change by another process at most this much later. Without the delay, checks for
 * changes would take a fifth of the time of a request.
 */
export const CHANGES_LISTED_AFTER_MS = 100;

/** How a database reads its list. */
export interface ListSource {
  /** Resolves to a value that changes with each committed change of the list, by any process. */
  readRevision(): Promise<bigint | number | string>;
  /** Returns the pages of one snapshot, which is taken when the first page is requested. */
  readPages(): AsyncGenerator<string | Uint8Array>;
  /** Reports whether an error of `readRevision` means that nothing can have changed meanwhile. */
  isUnchangeable?(error: unknown): boolean;
}

/**
 * Creates the list of a database that other processes change too. It asks for the revision at most
 * every tenth of a second, in the context of its creation, and concurrent calls share the question.
 * A call that finds a question older than that waits for it. If it succeeds, the call asks again. If
 * it fails, so does the call. The pages are read after their revision, so a list is never older than
 * its version.
 */
export function createNewestList({ readRevision, readPages, isUnchangeable = () => false }: ListSource) {
  /** Begins each version, because another database can have the same revision. */
  const listId = crypto.randomUUID();
  let newest: { readonly pages: OrderPages; readonly checkedMs: number } | undefined;
  let checking: { readonly pages: Promise<OrderPages>; readonly sinceMs: number } | undefined;
  let changes = 0;

  const check = AsyncResource.bind(async (checkedMs: number): Promise<OrderPages> => {
    const changesBefore = changes;
    // A check that began before a change of this process may not see it.
    const isCurrent = () => changes === changesBefore;
    try {
      const version = `${listId} ${await readRevision()}`;
      const pages = { version, [Symbol.asyncIterator]: readPages };
      if (isCurrent()) newest = { pages, checkedMs };
      return pages;
    } catch (error) {
      if (newest === undefined || !isUnchangeable(error)) throw error;
      return newest.pages;
    } finally {
      if (isCurrent()) checking = undefined;
    }
  });

  /**
   * Returns pages with a version. They show a change that `noteChange` has announced, and a change by
   * another process at most a tenth of a second later.
   */
  function list(): MaybePromise<OrderPages> {
    const nowMs = performance.now();
    const isRecent = (ms: number) => nowMs - ms < CHANGES_LISTED_AFTER_MS;
    if (newest !== undefined && isRecent(newest.checkedMs)) return newest.pages;
    if (checking !== undefined && !isRecent(checking.sinceMs)) return checking.pages.then(list);
    checking ??= { pages: check(nowMs), sinceMs: nowMs };
    return checking.pages;
  }

  return {
    list,

    /** Makes the next list show a change by this process. */
    noteChange(): void {
      changes++;
      newest = undefined;
      checking = undefined;
    },
  };
}
