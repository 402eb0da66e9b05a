import type { ReplyMessage } from '../../http/index.js';
import { escapeNonAscii } from '../../orders/json.js';
import { messageOf } from './message-of.js';

/**
 * Reports what the program does. An event is a few words, with fields for the details. Neither the
 * words nor the fields ever contain an API key.
 */
export interface Log {
  event(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Logs a reply, at the level `error` if the message has an error, otherwise `info`. */
  request(message: ReplyMessage): void;
  /** Immediately begins to write all buffered lines. */
  flush(): void;
}

export type LogFields = Readonly<Record<string, string | number | undefined>>;

/** The method of a stream that the log uses. */
export interface LogStream {
  write(text: string, written: () => void): unknown;
}

/**
 * The most bytes that a pipe accepts in one piece (PIPE_BUF of Linux). A longer write could be
 * mixed with the writes of other processes.
 */
const PIPE_BYTES = 4_096;

/**
 * The batch size for a log file. Unlike a pipe, a file accepts this many bytes in one piece. One
 * long write costs less than many short ones.
 */
export const FILE_BYTES = 65_536;

/** How many bytes can wait while nobody reads the log. Further lines are dropped. */
const MOST_WAITING_BYTES = 16_777_216;

/** How long the line of a request may wait to be written together with other lines. */
const WAIT_MS = 10;

type Level = 'info' | 'error';

/**
 * Creates a log that writes one line for each event or request. A line is a JSON object, or text
 * for people if `readable` is true. Each line is ASCII and has the fields of `always`.
 *
 * Several lines are written together, up to `batchBytes` at a time, because a busy server logs tens
 * of thousands of lines per second and each write is a system call. A write begins only when the
 * previous one has ended. Otherwise the stream would merge the waiting writes into a longer one,
 * which a pipe can split. Lines beyond {@link MOST_WAITING_BYTES} are dropped, and a line with their
 * number is logged instead.
 */
export function createLog(stream: LogStream, readable: boolean, always: LogFields = {}, batchBytes = PIPE_BYTES): Log {
  const serialize = readable ? readableLine : jsonLine;
  const time = createTimeText();
  /** Lines that wait to be written. All batches but the last are full. */
  const batches: string[] = [];
  let isWriting = false;
  let isDue = false;
  let dropped = 0;

  function flush(): void {
    isDue = true;
    writeNext();
  }

  /** Writes the oldest batch if it is full or due. */
  function writeNext(): void {
    if (isWriting || (batches.length < 2 && !isDue)) return;
    const batch = batches.shift();
    if (batch === undefined) {
      isDue = false;
      return;
    }
    isWriting = true;
    const lines = dropped;
    dropped = 0;
    if (lines > 0) add('error', 'log lines dropped because the log was not read in time', { lines });
    stream.write(batch, () => {
      isWriting = false;
      writeNext();
    });
  }

  function add(level: Level, event: string, fields: LogFields): void {
    const line = serialize(time(), level, event, always, fields);
    if (batches.length * batchBytes >= MOST_WAITING_BYTES) {
      dropped++;
      return;
    }
    const last = batches.length - 1;
    if (last < 0 || (batches[last] ?? '').length + line.length > batchBytes) {
      batches.push(line);
      writeNext();
    } else {
      batches[last] += line;
    }
  }

  function addEvent(level: Level, event: string, fields: LogFields = {}): void {
    add(level, event, fields);
    setImmediate(flush);
  }

  return {
    event: (event, fields) => addEvent('info', event, fields),
    error: (event, fields) => addEvent('error', event, fields),
    request(message) {
      if (batches.length === 0) setTimeout(flush, WAIT_MS);
      add(message.error === undefined ? 'info' : 'error', 'request', fieldsOf(message));
    },
    flush,
  };
}

function fieldsOf(message: ReplyMessage): LogFields {
  const { requestId, traceparent, method, path, clientAddress, status, bytes, operation, code } = message;
  const { orderId, keyId, durationMs, error } = message;
  return {
    requestId,
    traceparent,
    method,
    path,
    clientAddress,
    status,
    bytes,
    operation,
    code,
    orderId: orderId === undefined ? undefined : `${orderId}`,
    keyId,
    durationMs: Math.round(durationMs * 1_000) / 1_000,
    error: error === undefined ? undefined : messageOf(error),
  };
}

/** Returns the current time as text. Formats it only once per millisecond, which costs 1 µs. */
function createTimeText(): () => string {
  let ms = 0;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== ms) text = new Date(nowMs).toISOString();
    ms = nowMs;
    return text;
  };
}

function jsonLine(time: string, level: Level, event: string, always: LogFields, fields: LogFields): string {
  // The objects are serialised one by one, because copying them into one takes longer.
  const members = [{ time, level, event }, always, fields]
    .map((object) => JSON.stringify(object).slice(1, -1))
    .filter(Boolean);
  return `{${escapeNonAscii(members.join(','))}}\n`;
}

/** Serialises an event for people: `12:30:59.123 listening url=http://127.0.0.1:8080/v1`. */
function readableLine(time: string, level: Level, event: string, always: LogFields, fields: LogFields): string {
  let line = `${time.slice(11, 23)} ${level === 'error' ? 'ERROR ' : ''}${event}`;
  for (const [name, value] of Object.entries({ ...always, ...fields })) {
    if (value === undefined) continue;
    line += ` ${name}=${/^[!#-~]+$/.test(`${value}`) ? value : escapeNonAscii(JSON.stringify(value))}`;
  }
  return `${line}\n`;
}
