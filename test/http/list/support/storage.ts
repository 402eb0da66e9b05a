import { AsyncLocalStorage } from 'node:async_hooks';
import { after } from 'node:test';

/**
 * Creates a storage for the current test. It is disabled when the test ends, because every storage
 * in use makes each later promise of the process slower.
 */
export function createStorage<T>(): AsyncLocalStorage<T> {
  const storage = new AsyncLocalStorage<T>();
  after(() => storage.disable());
  return storage;
}
