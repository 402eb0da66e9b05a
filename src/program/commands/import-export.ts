import { closeSync, constants, createReadStream, fstatSync, open, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import { failureOf } from '../../databases/sqlite/failure.js';
import { messageOf } from '../../message-of.js';
import { serializeRecord } from '../../orders/exact-json.js';
import { parseOrderRecord } from '../../orders/index.js';
import type { ImportedRecord } from '../../orders/sqlite/engine.js';
import { type CommandResult, done, failed, Misuse } from '../command-result.js';
import type { Storage } from '../storage/storage.js';
import { writeText } from '../write-text.js';
import type { Invocation } from './command.js';
import { CSV_HEAD, serializeCsvRow } from './import/csv.js';
import { ImportMistake } from './import/lines.js';
import { drawProgress } from './import/progress.js';
import { readOrders } from './import/reader.js';
import { withStorage } from './with-storage.js';

/** Orders in batches. No batch is empty. */
export type Records = ReturnType<Storage['records']>;

type Format = 'json' | 'csv';

/** What is wrong with the input of an import, with its cause. */
class InputFailure extends Error {}

export async function importOrders(invocation: Invocation): Promise<CommandResult> {
  const { operand: file } = invocation;
  const statuses = readStatuses(invocation);
  const format = readFormat(invocation, /\.csv$/i.test(file) ? 'csv' : 'json');
  const name = file === '-' ? 'stdin' : file;
  const interruption = new AbortController();
  // The first Ctrl-C ends the reading. It has no effect once everything has been read. The second
  // ends the process.
  process.once('SIGINT', () => interruption.abort());
  let input: Readable;
  let removeBar: () => void;
  try {
    [input, removeBar] = await openInput(file, interruption.signal);
  } catch {
    return failed(`cannot read ${name}; check that it is a readable file`);
  }
  // Without a listener, an error before the first read would end the process. `readOrders` reports
  // the error.
  input.on('error', () => {});
  addAbortSignal(interruption.signal, input);
  const batches = readOrders(input.setEncoding('utf8'), format, statuses);
  return withStorage(invocation, (storage) => store(storage, name, batches, invocation.flags.has('replace')), {
    create: true,
  }).finally(removeBar);
}

function readStatuses({ flags }: Invocation): readonly string[] {
  const text = flags.get('statuses');
  if (typeof text !== 'string') return [];
  const statuses = text.split(',');
  if (statuses.every((status) => !('mistake' in parseOrderRecord({ id: 0, status })))) return statuses;
  const given = JSON.stringify(text);
  throw new Misuse(`--statuses: expected lower-case words separated by commas, such as returned,on_hold, not ${given}`);
}

function readFormat({ flags }: Invocation, defaultValue: Format): Format {
  const format = flags.get('format') ?? defaultValue;
  if (format === 'json' || format === 'csv') return format;
  throw new Misuse(`--format: expected json or csv, not ${JSON.stringify(format)}`);
}

/**
 * Opens the file, or stdin for `-`. Also resolves to a function that removes the progress bar.
 * Rejects if the file cannot be read or is a directory.
 */
async function openInput(file: string, signal: AbortSignal): Promise<[Readable, removeBar: () => void]> {
  if (file === '-') return [process.stdin, () => {}];
  const fd = await openFile(file, signal);
  const stats = fstatSync(fd);
  if (stats.isDirectory()) throw new TypeError('a directory');
  // A read stream could not be interrupted while it waits for bytes from a pipe.
  if (stats.isFIFO()) return [new Socket({ fd, writable: false }), () => {}];
  const input = createReadStream(file, { fd });
  return [input, drawProgress(input, stats.size)];
}

/** Opens a file. A named pipe opens only when a writer does, which an interruption therefore is. */
async function openFile(file: string, signal: AbortSignal): Promise<number> {
  function wake(): void {
    try {
      closeSync(openSync(file, constants.O_WRONLY | constants.O_NONBLOCK));
    } catch {
      // The file is not a pipe, or has been opened meanwhile.
    }
  }
  signal.addEventListener('abort', wake);
  try {
    return await promisify(open)(file, 'r');
  } finally {
    signal.removeEventListener('abort', wake);
  }
}

async function store(
  storage: Storage,
  name: string,
  batches: AsyncIterable<readonly ImportedRecord[]>,
  replace: boolean,
): Promise<CommandResult> {
  const counts = new Map<string, number>();

  async function* countBatches(): AsyncGenerator<readonly ImportedRecord[]> {
    try {
      for await (const batch of batches) {
        for (const { record } of batch) counts.set(record.status, (counts.get(record.status) ?? 0) + 1);
        yield batch;
      }
    } catch (error) {
      // Only the input throws here, because a failure of the storage ends the iteration.
      throw new InputFailure(messageOf(error), { cause: error });
    }
  }

  const refused = (line: number, why: string) => failed(`${name}:${line}: ${why}; nothing was imported`);
  try {
    const imported = await storage.importRecords(countBatches(), replace);
    switch (imported.outcome) {
      case 'stored':
        return storedResult(name, imported.count, counts);
      case 'twice':
        return refused(imported.line, `the id ${imported.id} is already on line ${imported.earlier}`);
      case 'exists':
        return refused(imported.line, `the id ${imported.id} is already stored; use --replace to overwrite it`);
      case 'unknown': {
        const { cause } = imported;
        const reason = failureOf(cause, storage.name, 'write').message;
        return failed(
          `it is unknown whether the orders were imported: ${reason}; run "store-orders orders list" before you import them again`,
        );
      }
    }
  } catch (error) {
    if (!(error instanceof InputFailure)) throw error;
    const { message, cause } = error;
    if (cause instanceof ImportMistake) return refused(cause.line, message);
    const isInterrupted = cause instanceof Error && cause.name === 'AbortError';
    if (isInterrupted) return failed(`${name}: interrupted; nothing was imported`, 130);
    return failed(`cannot read ${name}: ${message}; nothing was imported`);
  }
}

function storedResult(name: string, count: number, counts: ReadonlyMap<string, number>): CommandResult {
  const byStatus = Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  const countTexts = Object.entries(byStatus).map(([status, orders]) => `${orders} ${status}`);
  const text = `${count} ${count === 1 ? 'order' : 'orders'} imported`;
  const about = count === 0 ? `${name} has no orders` : countTexts.join(', ');
  return done(`${text}: ${about}`, { imported: count, byStatus });
}

export function exportOrders(invocation: Invocation): Promise<CommandResult> {
  const format = readFormat(invocation, 'json');
  return withStorage(invocation, ({ records }) =>
    print(format === 'csv' ? csvTexts(records()) : jsonTexts(records(), invocation.wantsJson)),
  );
}

export async function* jsonTexts(records: Records, asArray = false): AsyncGenerator<string> {
  let separator = asArray ? '[' : '';
  const between = asArray ? ',\n' : '\n';
  for await (const batch of records) {
    yield separator + batch.map(serializeRecord).join(between);
    separator = between;
  }
  if (asArray) yield separator === '[' ? '[]\n' : ']\n';
  else if (separator !== '') yield '\n';
}

async function* csvTexts(records: Records): AsyncGenerator<string> {
  yield `${CSV_HEAD}\n`;
  for await (const batch of records) yield batch.map((record) => `${serializeCsvRow(record)}\n`).join('');
}

/** Writes the texts to stdout. Stops without an error if the reader has closed the pipe. */
export async function print(texts: AsyncIterable<string>): Promise<CommandResult> {
  for await (const text of texts) {
    try {
      if (!(await writeText(process.stdout, text))) break;
    } catch (error) {
      return failed(`cannot write to stdout: ${messageOf(error)}`);
    }
  }
  return { exitCode: 0 };
}
