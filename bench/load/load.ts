import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { without } from '../../test/support/installed.js';
import type { Child } from '../processes/child.js';
import { onCore } from '../processes/cores.js';
import { isQuick } from '../processes/pace.js';
import { FIRST_PENDING_ID, PENDING_IDS } from '../servers/orders.js';

export interface LoadRequest {
  readonly name: string;
  readonly method: 'GET' | 'DELETE';
  readonly path: string;
  /** The status of every response. With 204, the id of another order is appended to `path`. */
  readonly status: number;
}

export const LIST: LoadRequest = { name: 'GET, 10 orders', method: 'GET', path: '/v1/store/orders', status: 200 };
export const MISS: LoadRequest = { name: 'DELETE, 404', method: 'DELETE', path: '/v1/store/orders/1', status: 404 };
export const CANCEL: LoadRequest = { name: 'DELETE, 204', method: 'DELETE', path: '/v1/store/orders/', status: 204 };

export interface LoadOptions {
  readonly server: Child;
  readonly request: LoadRequest;
  readonly connections: number;
  readonly seconds: number;
  /** The first order that {@link CANCEL} cancels. Default: the first pending order. */
  readonly firstId?: number;
}

/** The reason why nothing can be measured over HTTP here, or `false`. */
export const missingWrk = !isQuick && without('wrk');

export interface Loaded {
  readonly answers: number;
  readonly perSecond: number;
  /** How many of the responses have a status other than `request.status`. */
  readonly stray: number;
}

/** A server with more stray responses than this share does not do the measured work. */
const MOST_STRAY = 0.01;

/**
 * Sends requests to a server for some seconds, and counts the responses. Rejects if no response
 * arrives, or if more than one in a hundred is stray.
 */
export function load(options: LoadOptions): Promise<Loaded> {
  return isQuick ? askOnce(options) : loadByWrk(options);
}

/**
 * The first order that is cancelled in the second of warm-up before each measurement. The
 * measurement cancels the orders from `FIRST_PENDING_ID` on.
 */
const WARM_UP_ID = FIRST_PENDING_ID + PENDING_IDS.length / 2;

export interface Slice extends Loaded {
  /** The server's processor time per response, in microseconds. */
  readonly usedUs: number;
}

/**
 * Loads a server for a second. The server is warmed up for a second before, because Node.js may
 * have dropped its compiled code. That happens in a garbage collection while no client is
 * connected, such as after `refill`.
 */
export async function loadWarm(options: Pick<LoadOptions, 'server' | 'request' | 'connections'>): Promise<Slice> {
  if (!isQuick) await load({ ...options, seconds: 1, firstId: WARM_UP_ID });
  const fromUs = options.server.cpuUs();
  const loaded = await load({ ...options, seconds: 1 });
  return { ...loaded, usedUs: (options.server.cpuUs() - fromUs) / loaded.answers };
}

/** Makes the orders of all servers pending again, if `request` is {@link CANCEL}. */
export async function refill(servers: readonly Child[], request: LoadRequest): Promise<void> {
  if (request === CANCEL) await Promise.all(servers.map((server) => server.ask()));
}

const run = promisify(execFile);

async function loadByWrk({
  server,
  request,
  connections,
  seconds,
  firstId = FIRST_PENDING_ID,
}: LoadOptions): Promise<Loaded> {
  const [command, parameters] = onCore('load', 'wrk', [
    ...['--threads', '1', '--connections', `${connections}`, '--duration', `${seconds}s`, '--timeout', '10s'],
    ...['--header', `Authorization: Bearer ${server.apiKey}`, ...scriptOf(request)],
    ...[server.url + request.path, '--', `${firstId}`],
  ]);
  const { stdout } = await run(command, parameters);
  const count = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? 0);
  const answers = count(/(\d+) requests in/);
  const failures = count(/Non-2xx or 3xx responses: (\d+)/);
  const stray = request.status >= 400 ? answers - failures : failures;
  if (answers === 0 || stray > answers * MOST_STRAY || stdout.includes('Socket errors')) {
    throw new Error(`${server.url}: not ${request.status} only\n${stdout}`);
  }
  return { answers, perSecond: count(/Requests\/sec: +([\d.]+)/), stray };
}

function scriptOf({ method, status }: LoadRequest): readonly string[] {
  if (method === 'GET') return [];
  return ['-s', fileURLToPath(new URL(status === 204 ? 'cancel.lua' : 'delete.lua', import.meta.url))];
}

/** With `--quick`, sends one request and checks its response. */
async function askOnce({ server, request }: LoadOptions): Promise<Loaded> {
  const answer = await ask(server, request);
  if (!answer.startsWith(`HTTP/1.1 ${request.status} `))
    throw new Error(`${server.url}: not ${request.status}\n${answer}`);
  return { answers: 1, perSecond: 1, stray: 0 };
}

/** Returns the response as it came over the wire, including its head. */
export function ask({ url, apiKey }: Child, { method, path, status }: LoadRequest): Promise<string> {
  const { hostname, port } = new URL(url);
  const target = status === 204 ? `${path}${FIRST_PENDING_ID}` : path;
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), hostname).setEncoding('latin1').once('error', reject);
    socket.write(`${method} ${target} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`);
    socket.on('data', (text) => {
      answer += text;
      // The servers keep the connection open, so it is closed here, 50 ms after the first bytes.
      // This is enough time for the rest of the response.
      setTimeout(() => socket.destroy(), 50);
    });
    socket.once('close', () => resolve(answer));
  });
}
