import type { ReplyMessage } from '../../http/index.js';
import { printable } from './printable.js';
import { printRequest } from './request-line.js';

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

/**
 * Creates a log that writes one line for each event or request. A line is a JSON object, or text
 * for people if `readable` is true. Each line has the fields of `always`.
 *
 * Several lines are written together, up to `batchBytes` at a time. A busy server logs tens of
 * thousands of lines per second, and each write is a system call. An event is written in the pass
 * of the event loop in which it happens, and a request at most {@link WAIT_MS} later. A write
 * begins only when the previous one has ended. Otherwise the stream would merge the waiting writes
 * into a longer one, which a pipe can split. Lines beyond {@link MOST_WAITING_BYTES} are dropped. A
 * line with their number is logged instead.
 */
export function createLog(stream: LogStream, readable: boolean, always: LogFields = {}, batchBytes = PIPE_BYTES): Log {
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

  /** Writes the oldest batch if it is full or due. */
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

  /** Logs the number of dropped lines once there is room again. */
  function sayDropped(): void {
    const lines = dropped;
    dropped = 0;
    if (lines > 0) add('error', 'log lines dropped because the log was not read in time', { lines });
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
    if (batches.length * batchBytes === MOST_WAITING_BYTES) {
      dropped++;
      return;
    }
    if (batches.length === 0 || lastBytes + bytes > batchBytes) {
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

/** Prints an event for people: `12:30:59.123 listening url=http://127.0.0.1:8080/v1`. */
function printReadable(time: string, level: Level, event: string, fields: LogFields): string {
  let line = `${time.slice(11, 23)} ${level === 'error' ? 'ERROR ' : ''}${event}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined)
      line += ` ${name}=${/^[!#-~]+$/.test(`${value}`) ? value : printable(JSON.stringify(value))}`;
  }
  return line;
}

/**
 * Creates a function that returns the current time as text. It formats the part before the
 * milliseconds only once per second.
 */
function createTimeText(): () => string {
  let ms = 0;
  let secondMs = 0;
  let second = '';
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs === ms) return text;
    ms = nowMs;
    const fraction = nowMs % 1_000;
    if (nowMs - fraction !== secondMs) {
      secondMs = nowMs - fraction;
      second = new Date(secondMs).toISOString().slice(0, -4);
    }
    text = `${second}${`${1_000 + fraction}`.slice(1)}Z`;
    return text;
  };
}
