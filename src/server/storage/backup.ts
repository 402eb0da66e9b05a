import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { createPrivately } from '../../databases/sqlite/driver.js';
import { SqliteFileError } from '../../databases/sqlite/failure.js';
import { QUIETLY } from '../../databases/sqlite/remote.js';
import { randomBase62 } from '../keys/api-key.js';
import { done, failed, type Outcome } from '../outcome.js';

/** The task of the backup thread. */
export interface BackupData {
  readonly file: string;
  /** An empty file, created by the caller. */
  readonly copy: string;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Copies a database to a new file. The file gets its content only when the copy is complete and on
 * disk. A failure or a signal leaves no partial copy behind.
 */
export async function backUp(file: string, target: string): Promise<Outcome> {
  const taken = failed(`${target} already exists; name a new file, because a backup overwrites nothing`);
  if (existsSync(target)) return taken;
  return withCopy(file, target, (copy) => {
    // Renaming would overwrite a file that another process has created meanwhile. So an empty file
    // is created here first, and only that file is overwritten.
    if (!createPrivately(target)) return taken;
    const bytes = putInPlace(copy, target);
    return done(`backed up ${file} to ${target}, ${bytes} bytes`, { file, backup: target, bytes });
  });
}

/**
 * Copies a database to a file beside the target, checks the copy, and runs `work` on it. Removes
 * the copy afterwards.
 */
export async function withCopy(
  file: string,
  target: string,
  work: (copy: string) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  const copy = resolve(`${target}.${randomBase62(8)}.partial`);
  if (!createPrivately(copy)) {
    return failed(`cannot create ${target}; check that its directory exists and is writable`);
  }
  const ignoreSignals = onSignal(() => remove(copy));
  try {
    const workerData: BackupData = { file, copy };
    await runToEnd(new Worker(new URL('./backup-worker.js', import.meta.url), { workerData, execArgv: QUIETLY }));
    return await work(copy);
  } finally {
    ignoreSignals();
    remove(copy);
  }
}

/**
 * Renames the copy to the target in one step that survives a power cut. Returns the size of the
 * file.
 */
export function putInPlace(copy: string, target: string): number {
  renameSync(copy, target);
  syncDirectoryOf(target);
  return statSync(target).size;
}

/** Removes a copy and the journal that SQLite keeps beside it. */
function remove(copy: string): void {
  for (const suffix of ['', '-journal']) rmSync(copy + suffix, { force: true });
}

function runToEnd(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on('error', ({ message }) => reject(new SqliteFileError(message, 'other')));
    worker.on('exit', () => resolve());
  });
}

/**
 * Runs `work` when a signal arrives, and then lets the signal end the process. Returns a function
 * that stops listening for signals.
 */
function onSignal(work: () => void): () => void {
  function stop(): void {
    for (const signal of SIGNALS) process.off(signal, end);
  }
  function end(signal: NodeJS.Signals): void {
    work();
    stop();
    process.kill(process.pid, signal);
  }
  for (const signal of SIGNALS) process.on(signal, end);
  return stop;
}

/**
 * Syncs the directory of a file, so that the file's new name survives a power cut. Windows cannot
 * open a directory and does not need this.
 */
function syncDirectoryOf(file: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(dirname(resolve(file)), 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
