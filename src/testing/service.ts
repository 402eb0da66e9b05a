import { checkFields, checkMethods } from '../check.js';
import { createOrderService, type OrderService, type OrderServiceOptions, type Principal } from '../http/index.js';
import { createMemoryLimiter, type Decision, type MemoryLimiter, PLANS, type Plan } from '../limits/index.js';
import { checkPlan } from '../limits/plan.js';
import { createMemoryOrderStore, type MemoryOrderStore, type OrderInput, type OrderStore } from '../orders/index.js';
import { createManualClock, type ManualClock } from './clock.js';
import { checkFault, createFaultResponder, type TestFault } from './faults.js';
import { createTransports, type ListeningTestService } from './transports.js';

export interface TestServiceOptions
  extends Pick<OrderServiceOptions, 'basePath' | 'addressPlan' | 'paths' | 'corsOrigins'> {
  /** The orders in the store at first. Default: none. */
  readonly orders?: Iterable<OrderInput> | undefined;
  /** The plan of `apiKey`. Default: the free plan. */
  readonly plan?: Plan | undefined;
  /** The limiter's clock. Default: one that stands still. With fake timers, use `createDateClock()`. */
  readonly clock?: ManualClock | undefined;
}

/**
 * The whole service in the test's process, for tests of a client: real quotas, real bans, no socket
 * and no waiting.
 */
export interface TestService {
  /** The base address for requests with this `fetch`. No server listens there. */
  readonly url: string;
  /**
   * Works like the global `fetch`, with any host name. Rejects if the `signal` is aborted. Lists are
   * not compressed, and no redirect is followed.
   */
  readonly fetch: typeof globalThis.fetch;
  /** A valid key. */
  readonly apiKey: string;
  /** The limiter's clock. It stands still until it is moved, unless another clock was passed in. */
  readonly clock: ManualClock;
  /** The orders: `put` and `ship` set them up, `get` shows their current state. */
  readonly store: MemoryOrderStore;
  /** The service, to mount in a server of your own. `failNext` has no effect on it. */
  readonly service: OrderService;
  /** The service's limiter, for a guard behind the same quotas. */
  readonly limiter: MemoryLimiter;
  /** The service's look-up of keys, for a guard behind the same keys. */
  readonly authenticate: (apiKey: string) => Principal | undefined;
  /** Listens on a free port of the loopback interface, for a client that needs a socket. */
  listen(): Promise<ListeningTestService>;
  /**
   * Makes the next requests fail: one request for each fault, in this order, whether it arrives by
   * `fetch` or by a socket. The faults 500 and 503 happen in the order store. A request that the
   * service refuses before it calls the store, such as one over quota, gets its usual refusal.
   * Throws a TypeError for an unknown fault.
   */
  failNext(...faults: readonly TestFault[]): void;
  /** Creates another valid key. Default: a key of the free plan. */
  issueKey(plan?: Plan): string;
  /** Uses up the key's window with the fewest tokens left, so that its next request gets 429. */
  exhaust(apiKey: string): void;
  /** Bans the key for this many milliseconds. Default: one minute. */
  ban(apiKey: string, ms?: number): void;
  /**
   * Returns the decision on the key's next request, without taking a token: whether it is allowed, and
   * what its response would announce.
   */
  quota(apiKey: string): Decision;
}

/**
 * Creates a service for one test. Throws a TypeError or RangeError that names the invalid option.
 * Its methods throw a RangeError for an API key that it has not issued.
 * @example
 * ```ts
 * import { createTestService } from 'store-orders/testing';
 *
 * const { url, fetch, apiKey } = createTestService({ orders: [{ id: 1 }] });
 * const headers = { Authorization: `Bearer ${apiKey}` };
 * const response = await fetch(`${url}/store/orders/1`, { method: 'DELETE', headers }); // 204
 * ```
 */
export function createTestService(options: TestServiceOptions = {}): TestService {
  checkFields('options', options, ['orders', 'plan', 'clock', 'basePath', 'addressPlan', 'paths', 'corsOrigins']);
  const { orders = [], plan = PLANS.free, clock = createManualClock(), ...serviceOptions } = options;
  checkMethods('clock', clock, ['nowMs', 'utcOffsetMs', 'advance']);
  const limiter = createMemoryLimiter({ clock });
  const store = createMemoryOrderStore(orders);
  const principals = new Map<string, Principal>();
  const authenticate = (apiKey: string) => principals.get(apiKey);
  const optionsWith = (store: OrderStore) => ({ ...serviceOptions, store, limiter, authenticate });
  const service = createOrderService(optionsWith(store));
  // A failure that the test asked for causes no process warning.
  const createFaultyService = (store: OrderStore) => createOrderService({ ...optionsWith(store), onFailure() {} });
  const faults: TestFault[] = [];
  const transports = createTransports(service, createFaultResponder(service, createFaultyService), () =>
    faults.shift(),
  );

  function issueKey(bought: Plan = PLANS.free): string {
    checkPlan(bought);
    const number = principals.size + 1;
    principals.set(`test-${number}-key`, { id: `test-${number}`, plan: bought });
    return `test-${number}-key`;
  }

  function principalOf(apiKey: string): Principal {
    const principal = principals.get(apiKey);
    if (principal === undefined) throw new RangeError('apiKey: expected a key that this test service has issued');
    return principal;
  }

  return {
    url: `http://orders.test${service.basePath}`,
    ...transports,
    apiKey: issueKey(plan),
    clock,
    store,
    service,
    limiter,
    authenticate,
    failNext(...next) {
      next.forEach(checkFault);
      faults.push(...next);
    },
    issueKey,
    quota(apiKey) {
      const { id, plan } = principalOf(apiKey);
      return limiter.peek(id, plan);
    },
    exhaust(apiKey) {
      const { id, plan } = principalOf(apiKey);
      limiter.take(id, plan, limiter.peek(id, plan, 0).inForce.remaining);
    },
    ban: (apiKey, ms = 60_000) => limiter.ban(principalOf(apiKey).id, ms),
  };
}
