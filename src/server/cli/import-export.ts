import { createReadStream, fstatSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { failureOf } from '../../databases/sqlite/failure.js';
import { serializeRecord } from '../../orders/json.js';
import type { ImportedRecord } from '../../orders/store.js';
import { type CommandResult, done, failed, misused } from '../command-result.js';
import { messageOf } from '../log/message-of.js';
import { writeText } from '../log/write-text.js';
import type { Storage } from '../storage/storage.js';
import type { Invocation } from './command.js';
import { CSV_HEAD, serializeCsvRow } from './import/csv.js';
import { ImportMistake } from './import/mistake.js';
import { readOrders } from './import/reader.js';
import { createProgressBar } from './terminal.js';
import { withStorage } from './with-storage.js';

/** Orders in batches. No batch is empty. */
export type Records = ReturnType<Storage['records']>;

export async function importOrders(invocation: Invocation): Promise<CommandResult> {
  const [file = '-'] = invocation.operands;
  const statuses = readStatuses(invocation);
  if (statuses === undefined) {
    const given = JSON.stringify(invocation.flags.get('statuses'));
    return misused(`--statuses: expected lower-case words separated by commas, such as returned,on_hold, not ${given}`);
  }
  const format = invocation.flags.get('format') ?? (file.endsWith('.csv') ? 'csv' : 'json');
  if (!isFormat(format)) return misused(unknownFormat(format));
  const name = file === '-' ? 'stdin' : file;
  let input: Input;
  try {
    input = openInput(file);
  } catch {
    return failed(`cannot read ${name}; check that the file exists`);
  }
  const bar = createProgressBar(process.stderr, 'importing');
  // Has no effect while the orders are being stored. A second signal ends the process.
  const interrupt = () => void input.stream.destroy(new ImportMistake(undefined, 'interrupted'));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const batches = readOrders(chunksOf(input, bar.show), format, statuses);
  try {
    return await withStorage(invocation, (storage) => store(storage, name, batches, invocation.flags.has('replace')), {
      create: true,
      discards: true,
    });
  } finally {
    bar.clear();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

/** Returns the statuses of `--statuses`, or `undefined` if one of them is invalid. */
function readStatuses({ flags }: Invocation): readonly string[] | undefined {
  const list = flags.get('statuses');
  if (typeof list !== 'string') return [];
  const statuses = list.split(',');
  return statuses.every((status) => /^[a-z][a-z0-9_]{0,63}$/.test(status)) ? statuses : undefined;
}

async function store(
  storage: Storage,
  name: string,
  batches: AsyncIterable<readonly ImportedRecord[]>,
  replace: boolean,
): Promise<CommandResult> {
  const counts = new Map<string, number>();

  async function* counted(): AsyncGenerator<readonly ImportedRecord[]> {
    for await (const batch of batches) {
      for (const { record } of batch) counts.set(record.status, (counts.get(record.status) ?? 0) + 1);
      yield batch;
    }
  }

  const refused = (line: number | undefined, why: string) =>
    failed(`${line === undefined ? '' : `${name}:${line}: `}${why}; nothing was imported`);
  try {
    const imported = await storage.importRecords(counted(), replace);
    switch (imported.outcome) {
      case 'stored':
        return storedOutcome(imported.count, counts);
      case 'twice':
        return refused(imported.line, `the id ${imported.id} is already on line ${imported.earlier}`);
      case 'exists':
        return refused(imported.line, `the id ${imported.id} is already stored; use --replace to overwrite it`);
      case 'unknown': {
        const { cause } = imported;
        const reason = failureOf(cause, storage.name, 'write').message;
        return failed(
          `it is unknown whether the orders were imported: ${reason}; run orders list before you import them again`,
        );
      }
    }
  } catch (error) {
    if (error instanceof ImportMistake) return refused(error.line, error.message);
    throw error;
  }
}

function storedOutcome(count: number, counts: ReadonlyMap<string, number>): CommandResult {
  const byStatus = Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  const statuses = Object.entries(byStatus).map(([status, orders]) => `${orders} ${status}`);
  return done(
    `${count} ${count === 1 ? 'order' : 'orders'} imported${statuses.length === 0 ? '' : ': '}${statuses.join(', ')}`,
    { imported: count, byStatus },
  );
}

const CHUNK_BYTES = 2 ** 16;

interface Input {
  readonly stream: Readable;
  /** The size of the file, or 0 if it is unknown. */
  readonly bytes: number;
}

/** Opens the file, or stdin for `-`. Throws if the file cannot be read or is a directory. */
function openInput(file: string): Input {
  if (file === '-') return { stream: process.stdin, bytes: fstatSync(process.stdin.fd).size };
  const fd = openSync(file, 'r');
  const stats = fstatSync(fd);
  if (stats.isDirectory()) throw new TypeError('a directory');
  return { stream: createReadStream(file, { fd, highWaterMark: CHUNK_BYTES }), bytes: stats.size };
}

/** Yields the chunks, and calls `onProgress` with the fraction that has been read, 0 to 1. */
async function* chunksOf({ stream, bytes }: Input, onProgress: (part: number) => void): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of stream) {
    yield chunk;
    read += chunk.length;
    if (bytes > 0) onProgress(read / bytes);
  }
}

export function exportOrders(invocation: Invocation): CommandResult | Promise<CommandResult> {
  const { flags } = invocation;
  const format = flags.get('format');
  if (!isFormat(format)) return misused(unknownFormat(format));
  return withStorage(invocation, ({ records }) =>
    print(format === 'csv' ? csvTexts(records()) : jsonTexts(records(), flags.has('json'))),
  );
}

function isFormat(text: unknown): text is 'json' | 'csv' {
  return text === 'json' || text === 'csv';
}

function unknownFormat(text: unknown): string {
  return `--format: expected json or csv, not ${JSON.stringify(text)}`;
}

export async function exportJson(records: Records, asArray: boolean): Promise<CommandResult> {
  return print(jsonTexts(records, asArray));
}

async function* jsonTexts(records: Records, asArray: boolean): AsyncGenerator<string> {
  let mark = asArray ? '[' : '';
  const between = asArray ? ',\n' : '\n';
  for await (const batch of records) {
    yield mark + batch.map(serializeRecord).join(between);
    mark = between;
  }
  if (asArray) yield mark === '[' ? '[]\n' : ']\n';
  else if (mark !== '') yield '\n';
}

async function* csvTexts(records: Records): AsyncGenerator<string> {
  yield `${CSV_HEAD}\n`;
  for await (const batch of records) yield batch.map((record) => `${serializeCsvRow(record)}\n`).join('');
}

/** Writes the texts to stdout. Stops without an error if the reader has closed the pipe. */
async function print(texts: AsyncIterable<string>): Promise<CommandResult> {
  for await (const text of texts) {
    try {
      if (!(await writeText(process.stdout, text))) break;
    } catch (error) {
      return failed(`cannot write to stdout: ${messageOf(error)}`);
    }
  }
  return { outcome: 'done' };
}
