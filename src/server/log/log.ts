/** Where the program says what happens. An event is a few words, its fields say the rest; never a key in either. */
export interface Log {
  event(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
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

/**
 * One JSON object a line, or with `readable` a line for a person, each with the fields of `always`. The lines of one
 * turn of the event loop are written together, a few dozen at a time: a busy server logs thousands a second, and each
 * write is a system call. One write after the other: those that wait in a stream are made one, and may be torn. Lines
 * beyond {@link MOST_WAITING} are dropped, and how many is said where they would be.
 */
export function createLog(stream: LogStream, readable: boolean, always: LogFields = {}): Log {
  const print = readable ? printReadable : printJson;
  const batches: string[] = [];
  let lastBytes = 0;
  let isWriting = false;
  let dropped = 0;

  function flush(): void {
    const batch = isWriting ? undefined : batches.shift();
    if (batch === undefined) return;
    isWriting = true;
    sayDropped();
    stream.write(batch, () => {
      isWriting = false;
      flush();
    });
  }

  /** There is room again. */
  function sayDropped(): void {
    const lines = dropped;
    dropped = 0;
    if (lines > 0) add('error', 'log lines dropped, nobody read them', { lines });
  }

  function add(level: Level, event: string, fields: LogFields): void {
    if (batches.length === MOST_WAITING) {
      dropped++;
      return;
    }
    const line = `${print(new Date().toISOString(), level, event, { ...always, ...fields })}\n`;
    const bytes = Buffer.byteLength(line);
    if (batches.length === 0) setImmediate(flush);
    if (batches.length === 0 || lastBytes + bytes > WHOLE_BYTES) {
      batches.push(line);
      lastBytes = bytes;
    } else {
      batches[batches.length - 1] += line;
      lastBytes += bytes;
    }
  }

  return {
    event: (event, fields = {}) => add('info', event, fields),
    error: (event, fields = {}) => add('error', event, fields),
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
