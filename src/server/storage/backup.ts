import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { QUIETLY } from '../../databases/sqlite/write-thread.js';
import { randomBase62 } from '../keys/api-key.js';
import { done, failed, type Outcome } from '../outcome.js';

/** What the thread is told. */
export interface BackupData {
  readonly file: string;
  /** Made by the caller, empty. */
  readonly copy: string;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Copies a database. The target has its name only when it is whole and on disk; what fails or is stopped leaves nothing. */
export async function backUp(file: string, target: string): Promise<Outcome> {
  const taken = failed(`${target} exists already; name a file that does not, a backup overwrites nothing`);
  if (existsSync(target)) return taken;
  const copy = resolve(`${target}.${randomBase62(8)}.partial`);
  // Whoever may not read the database may not read the copy.
  if (!makeFile(copy, statSync(file).mode)) {
    return failed(`cannot make ${target}; check that its directory exists and is writable`);
  }
  const ignoreSignals = onSignal(() => remove(copy));
  try {
    const workerData: BackupData = { file, copy };
    await runToEnd(new Worker(new URL('./backup-worker.js', import.meta.url), { workerData, execArgv: QUIETLY }));
    // Renaming would overwrite what another process has made meanwhile; an empty file made here is ours to overwrite.
    if (!makeFile(target)) return taken;
    renameSync(copy, target);
    syncDirectoryOf(target);
    const { size: bytes } = statSync(target);
    return done(`${file} is backed up to ${target}, ${bytes} bytes`, { file, backup: target, bytes });
  } finally {
    ignoreSignals();
    remove(copy);
  }
}

/** SQLite keeps a journal beside what it writes. */
function remove(copy: string): void {
  for (const suffix of ['', '-journal']) rmSync(copy + suffix, { force: true });
}

function makeFile(file: string, mode?: number): boolean {
  try {
    closeSync(openSync(file, 'wx', mode));
    return true;
  } catch {
    return false;
  }
}

function runToEnd(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on('error', reject);
    worker.on('exit', () => resolve());
  });
}

/** At a signal does `work` and then what the signal does by itself: it ends the process. Returns how to stop that. */
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

/** So that the name of the new file survives a power cut too. Windows cannot open a directory, and needs not. */
function syncDirectoryOf(file: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(dirname(resolve(file)), 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
