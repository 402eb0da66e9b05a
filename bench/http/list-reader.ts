import { connect, type Socket } from 'node:net';
import { API_KEY } from '../servers/orders.js';

export interface Reader {
  readonly socket: Socket;
  /** Sends one request, and does not wait for the response. */
  ask(): void;
  /** Sends one request, and resolves when its response has arrived. */
  read(): Promise<void>;
  /** Returns the `Content-Length` of the last response, or `NaN` if that response has none. */
  length(): number;
}

export interface ReaderOptions {
  readonly coding?: string;
  readonly target?: string;
}

const LAST_CHUNK = '0\r\n\r\n';

/**
 * Opens a connection for requests. It parses only the head of a response, and looks for the
 * response's end. A complete HTTP client would use too much processor time for this measurement.
 */
export async function openReader(url: string, options: ReaderOptions = {}): Promise<Reader> {
  const { coding = 'identity', target = 'GET /v1/store/orders' } = options;
  const { hostname, port } = new URL(url);
  const buffer = Buffer.allocUnsafe(256 * 1_024);
  let left = 0;
  let length = 0;
  let tail = '';
  let done = () => {};
  const onData = (bytes: number) => {
    if (left === 0) {
      const text = buffer.toString('latin1', 0, Math.min(bytes, 2_048));
      const end = text.indexOf('\r\n\r\n') + 4;
      const head = text.slice(0, end);
      // A response has no `Content-Length` if the server began to send it before the whole list was
      // serialised or compressed.
      length = Number(/Content-Length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
      const isEmpty = target.startsWith('HEAD') || / (?:204|304) /.test(head.slice(0, 16));
      left = end + (isEmpty ? 0 : length);
    }
    left -= bytes;
    if (Number.isNaN(left)) {
      tail = (tail + buffer.toString('latin1', Math.max(0, bytes - LAST_CHUNK.length), bytes)).slice(
        -LAST_CHUNK.length,
      );
      if (tail === LAST_CHUNK) left = 0;
    }
    if (left === 0) {
      tail = '';
      done();
    }
    return true;
  };
  const socket = connect({ host: hostname, port: Number(port), onread: { buffer, callback: onData } });
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  const request = `${target} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${API_KEY}\r\nAccept-Encoding: ${coding}\r\n\r\n`;
  const ask = () => void socket.write(request);
  const read = () =>
    new Promise<void>((resolve, reject) => {
      const onClose = () => reject(new Error(`${target}: the connection was closed`));
      socket.once('close', onClose);
      done = () => {
        socket.off('close', onClose);
        resolve();
      };
      ask();
    });
  return { socket, ask, read, length: () => length };
}

/** Reads again and again for some milliseconds, at least once. Resolves to the number of responses. */
export async function readFor({ read }: Reader, ms: number): Promise<number> {
  const endMs = performance.now() + ms;
  let count = 0;
  do {
    await read();
    count++;
  } while (performance.now() < endMs);
  return count;
}
