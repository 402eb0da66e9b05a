import type { ReplyMessage } from '../../http/index.js';
import { printRequest } from './request-line.js';

/** Where the program says what happens. An event is a few words, its fields say the rest; never a key in either. */
export interface Log {
  event(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** An error if a part failed behind the reply. */
  request(message: ReplyMessage): void;
  /** Begins to write what is not written yet, at once. */
  flush(): void;
}

export type LogFields = Readonly<Record<string, string | number | undefined>>;

/** The part of a stream that is used. */
export interface LogStream {
  write(text: string, written: () => void): unknown;
}

/** So much is written to a pipe whole or not at all, whatever other processes write to it (PIPE_BUF of Linux). */
const WHOLE_BYTES = 4_096;

/** Most batches that wait for a reader who has stopped reading: 16 MiB. */
const MOST_WAITING = 4_096;

/** How long the line of a request may wait for others. */
const WAIT_MS = 10;

/**
 * One JSON object a line, or with `readable` a line for a person, each with the fields of `always`. Lines are written
 * together, a dozen at a time: a busy server logs tens of thousands a second, and each write is a system call. Events
 * are written in the turn of the event loop in which they happen, requests after {@link WAIT_MS}. One write after the
 * other: those that wait in a stream are made one, and may be torn. Lines beyond {@link MOST_WAITING} are dropped, and
 * how many is said where they would be.
 */
export function createLog(stream: LogStream, readable: boolean, always: LogFields = {}): Log {
  const print = readable ? printReadable : printJson;
  const time = createTimeText();
  const alwaysText = Object.keys(always).length === 0 ? '' : `${JSON.stringify(always).slice(1, -1)},`;
  const batches: string[] = [];
  let lastBytes = 0;
  let isWriting = false;
  let isDue = false;
  let dropped = 0;

  function flush(): void {
    isDue = true;
    writeNext();
  }

  /** A batch is written when it is full or due. */
  function writeNext(): void {
    if (isWriting || (batches.length < 2 && !isDue)) return;
    const batch = batches.shift();
    if (batch === undefined) {
      isDue = false;
      return;
    }
    isWriting = true;
    sayDropped();
    stream.write(batch, () => {
      isWriting = false;
      writeNext();
    });
  }

  /** There is room again. */
  function sayDropped(): void {
    const lines = dropped;
    dropped = 0;
    if (lines > 0) add('error', 'log lines dropped, nobody read them', { lines });
  }

  function add(level: Level, event: string, fields: LogFields): void {
    const line = `${print(time(), level, event, { ...always, ...fields })}\n`;
    setImmediate(flush);
    addLine(line, Buffer.byteLength(line));
  }

  function addRequest(level: Level, fields: string): void {
    const line = `{"time":"${time()}","level":"${level}","event":"request",${alwaysText}${fields}}\n`;
    if (batches.length === 0) setTimeout(flush, WAIT_MS);
    addLine(line, line.length);
  }

  function addLine(line: string, bytes: number): void {
    if (batches.length === MOST_WAITING) {
      dropped++;
      return;
    }
    if (batches.length === 0 || lastBytes + bytes > WHOLE_BYTES) {
      batches.push(line);
      lastBytes = bytes;
      writeNext();
    } else {
      batches[batches.length - 1] += line;
      lastBytes += bytes;
    }
  }

  return {
    event: (event, fields = {}) => add('info', event, fields),
    error: (event, fields = {}) => add('error', event, fields),
    request(message) {
      const level = message.error === undefined ? 'info' : 'error';
      const fields = printRequest(message);
      if (readable) add(level, 'request', JSON.parse(`{${fields}}`));
      else addRequest(level, fields);
    },
    flush,
  };
}

type Level = 'info' | 'error';

function printJson(time: string, level: Level, event: string, fields: LogFields): string {
  return JSON.stringify({ time, level, event, ...fields });
}

/** `12:30:59.123 listening url=http://127.0.0.1:8080/v1` */
function printReadable(time: string, level: Level, event: string, fields: LogFields): string {
  let line = `${time.slice(11, 23)} ${level === 'error' ? 'ERROR ' : ''}${event}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) line += ` ${name}=${/^[!#-~]+$/.test(`${value}`) ? value : JSON.stringify(value)}`;
  }
  return line;
}

/** The time as a text, which is kept for as long as it is right. */
function createTimeText(): () => string {
  let ms = 0;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== ms) {
      ms = nowMs;
      text = new Date(ms).toISOString();
    }
    return text;
  };
}
