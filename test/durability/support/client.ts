import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** When it was asked for, and how long its last byte took. */
  readonly sentMs: number;
  readonly tookMs: number;
}

/** One client with one connection, kept open between requests. Rejects when a request is not answered to its end. */
export interface Client {
  list(): Promise<Answer>;
  cancel(id: bigint): Promise<Answer>;
  close(): void;
}

/**
 * The agent keeps HTTP's rules: it sends nothing more on a connection whose answer said `Connection: close`, or whose
 * end it has seen, and takes a new one instead. Nothing is ever sent a second time. Every answer is also added to `answers`.
 */
export function createClient(url: string, apiKey: string, answers: Answer[] = []): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${apiKey}` };

  function send(method: string, path: string): Promise<Answer> {
    const sentMs = performance.now();
    return new Promise((resolve, reject) => {
      async function onResponse(response: IncomingMessage): Promise<void> {
        try {
          const body = await text(response);
          const { statusCode: status = 0, headers } = response;
          const answer = { status, headers, body, sentMs, tookMs: performance.now() - sentMs };
          answers.push(answer);
          resolve(answer);
        } catch (error) {
          reject(error);
        }
      }
      request(`${url}${path}`, { method, agent, headers }, onResponse).on('error', reject).end();
    });
  }

  return {
    list: () => send('GET', '/store/orders'),
    cancel: (id) => send('DELETE', `/store/orders/${id}`),
    close: () => agent.destroy(),
  };
}

/** Nobody listens there: nothing was sent. */
export function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
}

/** How many requests of the day were counted, this one too, by what the answer says is left of them. */
export function countedToday({ headers }: Answer, quota: number): number {
  const remaining = /"day";r=(\d+)/.exec(String(headers['ratelimit']))?.[1];
  if (remaining === undefined) throw new Error(`the answer says nothing of the day: ${JSON.stringify(headers)}`);
  return quota - Number(remaining);
}
