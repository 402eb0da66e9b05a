import { isResult, type SqliteDatabase, transaction } from './database.js';

/** Named functions, each of which writes a part of a transaction. What goes in and out is plain data. */
export type Writes = Readonly<Record<string, (...parameters: never[]) => unknown>>;

/** A write that is asked for: which function, with what. */
export interface WriteCall {
  readonly name: string;
  readonly parameters: readonly unknown[];
}

/** What became of it. `busy`: another process holds the lock, nothing was written, and it may be tried again. */
export type WriteResult =
  | { readonly outcome: 'committed'; readonly value: unknown }
  | { readonly outcome: 'failed' | 'busy'; readonly error: unknown };

/**
 * Commits the calls in one transaction and with one fsync. If that fails, each is tried in a transaction of its own, so
 * that one caller's failure is not another's.
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
