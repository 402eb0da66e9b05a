import assert from 'node:assert/strict';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The time from sending the request to the last byte of the response. */
  readonly tookMs: number;
}

export type Client = ReturnType<typeof createClient>;

/**
 * Creates a client with one connection, kept open between requests. When a response has
 * `Connection: close`, or the connection has ended, the client opens a new connection for the next
 * request. It never sends a request twice. Its methods reject if a response is missing or truncated.
 */
export function createClient(url: string, apiKey: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${apiKey}` };
  let answeredMs = performance.now();
  let idleMs = 0;

  function send(method: string, path: string): Promise<Answer> {
    const sentMs = performance.now();
    idleMs = sentMs - answeredMs;
    return new Promise((resolve, reject) => {
      async function onResponse(response: IncomingMessage): Promise<void> {
        try {
          const body = await text(response);
          const { statusCode: status = 0, headers } = response;
          answeredMs = performance.now();
          resolve({ status, headers, body, tookMs: answeredMs - sentMs });
        } catch (error) {
          reject(error);
        }
      }
      request(`${url}${path}`, { method, agent, headers }, onResponse).on('error', reject).end();
    });
  }

  return {
    list: () => send('GET', '/store/orders'),
    cancel: (id: bigint) => send('DELETE', `/store/orders/${id}`),
    close: () => agent.destroy(),
    /** Returns how long the connection had been idle when the newest request was sent. */
    idleMs: () => idleMs,
  };
}

/** Reports whether an order was cancelled. If not, asserts that the cancel may be sent again later. */
export function isCancelled({ status, headers, body }: Answer): boolean {
  if (status === 204) return true;
  assert.deepEqual([status, JSON.parse(body).code], [503, 'service_unavailable']);
  // The wait grows while cancels go on failing.
  assert.match(headers['retry-after'] ?? '', /^(?:[1-9]|[12]\d|30)$/);
  return false;
}

/**
 * Reports whether a request may fail because the server stops: the connection was refused, or it had
 * been idle for so long that a server that stops closes it.
 */
export function mayFail(error: unknown, client: Client): boolean {
  return client.idleMs() > 400 || (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED');
}

/** Returns the number of requests counted today, including the request of this response. */
export function countedToday({ headers }: Answer, quota: number): number {
  const remaining = /"day";r=(\d+)/.exec(String(headers['ratelimit']))?.[1];
  if (remaining === undefined) throw new Error(`the response has no quota for the day: ${JSON.stringify(headers)}`);
  return quota - Number(remaining);
}
