/**
 * A client that you can copy into your program. It needs only `fetch`.
 *
 * - Ids are bigint. `JSON.parse` would round ids beyond 2^53, and a rounded id is the id of another
 *   order.
 * - After status 429, status 5xx or a connection error, the client waits and tries again. It waits
 *   at least as long as `Retry-After` asks. It gives up after five attempts. It also gives up if
 *   the wait would be too long: when the quota of the day is used up, the wait can be hours.
 * - If the response to a cancellation was lost, the client cancels again. If the order is already
 *   cancelled then, the cancellation has succeeded.
 *
 * `exact-client.test.ts` beside this file tests the client against the real service.
 */

export interface Order {
  readonly id: bigint;
  readonly petId?: bigint;
  readonly quantity?: number;
  /** A date and time in the format of RFC 3339. */
  readonly shipDate?: string;
  readonly complete?: boolean;
}

export type CancelOutcome = 'cancelled' | 'already_cancelled' | 'already_shipped' | 'not_pending' | 'not_found';

export interface OrdersClientOptions {
  /** The base address, including the version: `https://orders.example/v1`. */
  readonly url: string;
  readonly apiKey: string;
  readonly fetch?: typeof globalThis.fetch;
  /** The maximum number of requests for one call, including the first. Default: 5. */
  readonly maxAttempts?: number;
  /** Longest wait before a retry. Default: 90 s, longer than the minute window of a plan. */
  readonly maxWaitMs?: number;
  /** Time after which a response counts as lost. Default: 10 s. */
  readonly timeoutMs?: number;
  readonly sleep?: (ms: number) => Promise<void>;
}

/**
 * The error that a call throws if its last attempt got an error response, from the service or from
 * a proxy. If the last attempt got no complete response, the call throws the error of `fetch`.
 */
export class OrdersError extends Error {
  override readonly name = 'OrdersError';
  readonly status: number;
  /** The service's error code, such as `rate_limit_exceeded`. Empty if a proxy has responded. */
  readonly code: string;
  /** How long the service asks the client to wait. */
  readonly retryAfterMs: number;

  constructor({ status, body, retryAfterMs }: Answer) {
    const { code = '', message = '' } = readError(body);
    super(`${status} ${code}: ${message}`);
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly retryAfterMs: number;
}

const OUTCOMES: Readonly<Record<string, CancelOutcome>> = {
  order_already_cancelled: 'already_cancelled',
  order_already_shipped: 'already_shipped',
  order_not_pending: 'not_pending',
  order_not_found: 'not_found',
};

export function createOrdersClient(options: OrdersClientOptions) {
  const { url, apiKey, fetch = globalThis.fetch, maxAttempts = 5, maxWaitMs = 90_000, timeoutMs = 10_000 } = options;
  const { sleep = (ms) => new Promise<void>((resolve) => setTimeout(resolve, ms)) } = options;

  async function send(method: string, path: string): Promise<Answer> {
    const headers = { Authorization: `Bearer ${apiKey}` };
    const response = await fetch(url + path, { method, headers, signal: AbortSignal.timeout(timeoutMs) });
    const { status } = response;
    return { status, retryAfterMs: retryAfterMs(response), body: await response.text() };
  }

  /**
   * Sends a request, and repeats it as long as that may help. Resolves to the last response, or
   * throws if the client gives up. `mayBeDone` is true if an earlier attempt failed but may have
   * cancelled the order.
   */
  async function request(method: string, path: string): Promise<Answer & { readonly mayBeDone: boolean }> {
    let mayBeDone = false;
    for (let attempt = 1; ; attempt++) {
      // A connection error does not show whether the service has carried out the request.
      const answer = await send(method, path).catch((error: unknown) => ({ error, retryAfterMs: 0 }));
      if ('status' in answer && answer.status !== 429 && answer.status < 500) return { ...answer, mayBeDone };
      const waitMs = answer.retryAfterMs + Math.random() * 250 * 2 ** attempt;
      if (attempt === maxAttempts || waitMs > maxWaitMs) {
        throw 'status' in answer ? new OrdersError(answer) : answer.error;
      }
      if (!('status' in answer) || answer.status !== 429) mayBeDone = true;
      await sleep(waitMs);
    }
  }

  return {
    /**
     * Returns all orders, ascending by id. Throws an {@link OrdersError}, or the error of `fetch`.
     */
    async list(): Promise<readonly Order[]> {
      const answer = await request('GET', '/store/orders');
      if (answer.status !== 200) throw new OrdersError(answer);
      return readOrders(answer.body);
    },

    /** Cancels a pending order. Throws the same errors as `list`. */
    async cancel(id: bigint): Promise<CancelOutcome> {
      const answer = await request('DELETE', `/store/orders/${id}`);
      if (answer.status === 204) return 'cancelled';
      const outcome = OUTCOMES[readError(answer.body).code ?? ''];
      if (outcome === undefined) throw new OrdersError(answer);
      return outcome === 'already_cancelled' && answer.mayBeDone ? 'cancelled' : outcome;
    },
  };
}

/**
 * Returns how long the header field `Retry-After` asks to wait, in milliseconds, or 0 without this
 * field. A proxy may send a date instead of seconds.
 */
function retryAfterMs({ headers }: Response): number {
  const value = headers.get('Retry-After') ?? '0';
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Math.max(0, ms || 0);
}

/**
 * Puts the ids in quotes, so that `JSON.parse` does not round them. The pattern matches only names
 * of fields, because a quote inside a string is escaped.
 */
function readOrders(json: string): readonly Order[] {
  const quoted = json.replace(/"(id|petId)":\s*(-?\d+)/g, '"$1":"$2"');
  return JSON.parse(quoted, (name, value) => (name === 'id' || name === 'petId' ? BigInt(value) : value));
}

function readError(json: string): { readonly code?: string; readonly message?: string } {
  try {
    return Object(JSON.parse(json));
  } catch {
    // The response is not JSON, but for example an error page of a proxy.
    return {};
  }
}
