import type { ReplyMessage } from '../../http/index.js';
import { messageOf } from '../../message-of.js';
import { escapeNonAscii } from '../../orders/json.js';
import { masked } from '../masked.js';

/**
 * Reports what the program does. An event is a few words, with fields for the details. Neither the
 * words nor the fields ever contain an API key.
 */
export interface EventLog {
  event(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

export interface Log extends EventLog {
  /** Logs a reply, at the level `error` if the message has an error, otherwise `info`. */
  request(message: ReplyMessage): void;
  /** Begins to write the lines that wait. */
  flush(): void;
  /** The number of lines dropped since the start, because the log was not read in time. */
  readonly dropped: number;
}

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface LogStream {
  write(text: string, written: () => void): unknown;
}

/**
 * The most bytes that a pipe accepts in one piece (PIPE_BUF of Linux). A longer write could be
 * mixed with the writes of other processes.
 */
const PIPE_BYTES = 4_096;
/** The size of a batch for a file, which accepts any write whole. Fewer writes take less time. */
const FILE_BYTES = 65_536;

/** A line that a pipe would not accept in one piece has at most this many characters of each field. */
const CUT_FIELD = 256;

/** How many bytes are kept while nobody reads the log. Further lines are dropped. */
const MOST_BYTES = 16 * 1_024 * 1_024;

/** How long a line may wait to be written together with other lines. */
const WAIT_MS = 10;

type Level = 'info' | 'error';

interface Entry {
  readonly time: string;
  readonly level: Level;
  readonly event: string;
  readonly [field: string]: string | number | boolean | undefined;
}

/** A line for a request. It has a field for every property of the message, except the plan. */
type RequestEntry = Entry &
  Readonly<Record<Exclude<keyof ReplyMessage, 'plan'>, string | number | boolean | undefined>>;

/**
 * Creates a log that writes one line for each event or request. A line is a JSON object, or text
 * for people if `isReadable` is true. Each line is ASCII and contains the number of the `worker`.
 * Set `isFile` if the stream writes to a file.
 *
 * Lines are written in batches. A write begins only when the previous one has ended, because the
 * stream would merge waiting writes into a longer one.
 */
export function createLog(stream: LogStream, isReadable: boolean, worker?: number, isFile = false): Log {
  const serialize: (entry: Entry) => string = isReadable ? readableLine : JSON.stringify;
  const batchBytes = isFile ? FILE_BYTES : PIPE_BYTES;
  /** Lines that wait to be written. All batches but the last are full. */
  const batches: string[] = [];
  let isWriting = false;
  let flushTimer: NodeJS.Timeout | undefined;
  let dropped = 0;
  let reported = 0;
  let time = { nowMs: 0, text: '' };

  /** Returns the time as text. Many lines share a millisecond. */
  function timeText(): string {
    const nowMs = Date.now();
    if (nowMs !== time.nowMs) time = { nowMs, text: new Date(nowMs).toISOString() };
    return time.text;
  }

  function addEvent(level: Level, event: string, fields?: LogFields): void {
    add({ time: timeText(), level, event, worker, ...fields });
  }

  function add(entry: Entry): void {
    if (batches.length * batchBytes >= MOST_BYTES) {
      dropped++;
      return;
    }
    const whole = lineOf(entry);
    const line = whole.length > PIPE_BYTES ? lineOf(withShortFields(entry)) : whole;
    const last = batches.at(-1);
    if (last === undefined || last.length + line.length > batchBytes) batches.push(line);
    else batches[batches.length - 1] = last + line;
    writeSoon();
  }

  function lineOf(entry: Entry): string {
    return `${masked(escapeNonAscii(serialize(entry)))}\n`;
  }

  function writeSoon(): void {
    if (batches.length > 1) flush();
    else flushTimer ??= setTimeout(flush, WAIT_MS);
  }

  function flush(): void {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    const batch = isWriting ? undefined : batches.shift();
    if (batch === undefined) return;
    isWriting = true;
    stream.write(batch, () => {
      isWriting = false;
      writeSoon();
    });
    if (dropped > reported) {
      const newlyDropped = dropped - reported;
      reported = dropped;
      addEvent('error', 'log lines dropped because the log was not read in time', { lines: newlyDropped });
    }
  }

  return {
    event: (event, fields) => addEvent('info', event, fields),
    error: (event, fields) => addEvent('error', event, fields),
    request(message) {
      const { orderId, error } = message;
      // One literal: spreading the message would take longer than serialising it.
      const entry: RequestEntry = {
        time: timeText(),
        level: error === undefined ? 'info' : 'error',
        event: 'request',
        worker,
        requestId: message.requestId,
        traceparent: message.traceparent,
        method: message.method,
        path: message.path,
        clientAddress: message.clientAddress,
        status: message.status,
        bytes: message.bytes,
        code: message.code,
        operation: message.operation,
        orderId: orderId === undefined ? undefined : `${orderId}`,
        keyId: message.keyId,
        error: error === undefined ? undefined : messageOf(error),
        isCutOff: message.isCutOff,
        durationMs: Math.round(message.durationMs * 1_000) / 1_000,
      };
      add(entry);
    },
    flush,
    get dropped() {
      return dropped;
    },
  };
}

function withShortFields(entry: Entry): Entry {
  const short: Record<string, string | number | boolean | undefined> = {};
  for (const [name, value] of Object.entries(entry)) {
    short[name] = typeof value === 'string' && value.length > CUT_FIELD ? `${value.slice(0, CUT_FIELD)}...` : value;
  }
  return { ...entry, ...short };
}

/** Serialises an event for people: `12:30:59.123 listening url=http://127.0.0.1:8080/v1`. */
function readableLine({ time, level, event, ...fields }: Entry): string {
  const start = `${time.slice(11, 23)} ${level === 'error' ? 'ERROR ' : ''}${event}`;
  const words = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${/^[!#-~]+$/.test(`${value}`) ? value : JSON.stringify(value)}`);
  return start + words.join('');
}
