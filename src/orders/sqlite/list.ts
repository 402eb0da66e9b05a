import { SqliteFileError } from '../../databases/sqlite/failure.js';
import type { FileReader } from '../../databases/sqlite/file.js';
import type { ListedOrders, OrderPages } from '../store.js';
import { PAGE, readPages } from './pages.js';
import type { Look, OrderReads } from './reads.js';

/**
 * The list shows a change by another process at most this much later. Without the delay, checks for
 * changes would take a fifth of the time of a request.
 */
const CHANGES_LISTED_AFTER_MS = 100;

/** The most recent list. It stays the same object as long as the listed fields do not change. */
export interface RememberedList {
  /** Returns the list if it can be served without a check for changes. */
  fresh(): ListedOrders | undefined;
  /** Returns the most recent list, or `undefined` if this process has changed the orders since. */
  last(): ListedOrders | undefined;
  revision(): bigint | undefined;
  /**
   * Updates the list from the result of a check. `pages` creates the list if the check did not
   * return the orders, because there are too many.
   */
  take(look: Look, pages?: (revision: bigint) => OrderPages): ListedOrders;
  /** Marks that this process has changed the orders, so that the next list shows the change. */
  changed(): void;
}

export function createRememberedList(): RememberedList {
  let remembered: { readonly revision: bigint; readonly orders: ListedOrders } | undefined;
  let isCurrent = false;
  let lookedMs = Number.NEGATIVE_INFINITY;

  return {
    fresh: () => (isCurrent && performance.now() - lookedMs < CHANGES_LISTED_AFTER_MS ? remembered?.orders : undefined),
    last: () => (isCurrent ? remembered?.orders : undefined),
    revision: () => remembered?.revision,

    take({ revision, isChanged, orders }, pages) {
      if (isChanged || remembered === undefined) {
        remembered = {
          revision,
          orders: orders === undefined && pages ? pages(revision) : Object.freeze(orders ?? []),
        };
      }
      isCurrent = true;
      lookedMs = performance.now();
      return remembered.orders;
    },

    changed() {
      isCurrent = false;
    },
  };
}

export interface FileList {
  /**
   * Returns a frozen array. If there are more orders than a page holds, returns pages that are read
   * from one snapshot. While the disk hangs, returns the most recent list.
   */
  list(): ListedOrders | Promise<ListedOrders>;
  changed(): void;
}

/** Creates a list of the orders in a file that another thread reads. */
export function createFileList(reader: FileReader<OrderReads>): FileList {
  const remembered = createRememberedList();
  const pagesOf = createPages(reader);
  let looking: { readonly found: Promise<ListedOrders> } | undefined;

  function look(): Promise<ListedOrders> {
    const begun = { found: reader.read('look', remembered.revision(), PAGE).then(take, lastIfLate).finally(ended) };

    function take(found: Look): ListedOrders {
      const orders = remembered.take(found, pagesOf);
      // An order was changed during this check, so the next list has to check again.
      if (looking !== begun) remembered.changed();
      return orders;
    }

    function ended(): void {
      if (looking === begun) looking = undefined;
    }

    looking = begun;
    return begun.found;
  }

  /**
   * Returns the most recent list if the disk hangs: while it hangs, no order can change. Rethrows
   * any other error.
   */
  function lastIfLate(error: unknown): ListedOrders {
    const last = remembered.last();
    if (last !== undefined && error instanceof SqliteFileError && error.kind === 'late') return last;
    throw error;
  }

  return {
    list: () => remembered.fresh() ?? looking?.found ?? look(),

    changed() {
      looking = undefined;
      remembered.changed();
    },
  };
}

/** Creates a function that returns the pages of a long list. */
function createPages(reader: FileReader<OrderReads>): (revision: bigint) => OrderPages {
  let lists = 0;

  async function* read(): AsyncGenerator<string> {
    const list = ++lists;
    try {
      await reader.read('beginList', list);
      yield* readPages((first) => reader.read('readPages', list, first));
    } finally {
      reader.tell('endList', list);
    }
  }

  return (revision) => ({ version: `${revision}`, [Symbol.asyncIterator]: read });
}
