import { isResult, type SqliteDatabase, transaction } from './database.js';

/**
 * The functions that write, by name. Each runs inside a transaction. Their parameters and results
 * must be plain data, because they may be sent to another thread.
 */
export type Writes = Readonly<Record<string, (...parameters: never[]) => unknown>>;

/** A requested write: the function and its parameters. */
export interface WriteCall {
  readonly name: string;
  readonly parameters: readonly unknown[];
}

/**
 * The result of a write. `busy` means that another process holds the lock. Nothing was written
 * then, and the write can be retried.
 */
export type WriteResult =
  | { readonly outcome: 'committed'; readonly value: unknown }
  | { readonly outcome: 'failed' | 'busy'; readonly error: unknown };

/**
 * Commits the calls in one transaction, with one fsync. If another process holds the lock, every
 * result is `busy`. If the transaction fails for another reason, runs each call in a transaction of
 * its own, so that one caller's failure does not affect another.
 */
export function commitTogether(
  database: SqliteDatabase,
  writes: Writes,
  calls: readonly WriteCall[],
): readonly WriteResult[] {
  try {
    const values = transaction(database, () => calls.map((call) => perform(writes, call)));
    return values.map((value) => ({ outcome: 'committed', value }));
  } catch (error) {
    if (isResult(error, 'busy')) return calls.map(() => ({ outcome: 'busy', error }));
    if (calls.length === 1) return [{ outcome: 'failed', error }];
    return calls.flatMap((call) => commitTogether(database, writes, [call]));
  }
}

function perform(writes: Writes, { name, parameters }: WriteCall): unknown {
  const write = writes[name];
  if (write === undefined) throw new TypeError(`there is no write named ${name}`);
  return Reflect.apply(write, undefined, parameters);
}
