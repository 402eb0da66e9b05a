import { createOrderService, type OrderService, type OrderServiceOptions, type Principal } from '../http/index.js';
import { checkMethods, checkOptions } from '../http/options.js';
import { createMemoryLimiter, type Decision, PLANS, type Plan } from '../limits/index.js';
import { createMemoryOrderStore, type MemoryOrderStore, type OrderInput, type OrderStore } from '../orders/index.js';
import { createManualClock, type ManualClock } from './clock.js';
import { checkFault, createRespondWith, type TestFault } from './faults.js';
import { createTransports, type ListeningTestService } from './transports.js';

export interface TestServiceOptions extends Pick<OrderServiceOptions, 'basePath' | 'addressPlan' | 'draftFields'> {
  /** What is stored at first. Default: none. */
  readonly orders?: Iterable<OrderInput> | undefined;
  /** What `apiKey` has bought. Default: the free plan. */
  readonly plan?: Plan | undefined;
  /** The limiter's. Default: one that stands still. For fake timers: `createDateClock()`. */
  readonly clock?: ManualClock | undefined;
}

/**
 * The whole service in this process, for the tests of a client: real quotas, real bans, no socket
 * and no waiting.
 */
export interface TestService {
  /** The base address. Nothing listens there: it is what `fetch` answers for. */
  readonly url: string;
  /**
   * Takes what the global one takes; any host will do. Rejects as that one does when a `signal` is
   * aborted.
   */
  readonly fetch: typeof globalThis.fetch;
  /** A valid key. */
  readonly apiKey: string;
  /** The limiter's; stands still until it is moved, unless another was passed in. */
  readonly clock: ManualClock;
  /** The orders: `put` and `ship` to set them up, `get` to see what has become of them. */
  readonly store: MemoryOrderStore;
  /** To be mounted in a server of your own. `failNext` does not reach it. */
  readonly service: OrderService;
  /** Listens on a free port of the loopback interface, for a client that needs a socket. */
  listen(): Promise<ListeningTestService>;
  /**
   * Makes the next requests fail, one for each fault, in this order, whether they come by `fetch`
   * or by a socket. A request that is refused before the store is asked, such as one over quota,
   * keeps that response instead of 500 or 503. Throws a TypeError for an unknown fault.
   */
  failNext(...faults: readonly TestFault[]): void;
  /** Makes another valid key; of the free plan if none is named. */
  issueKey(plan?: Plan): string;
  /**
   * Takes what is left in the window with the least, so that the next request with the key is
   * answered 429.
   */
  exhaust(apiKey: string): void;
  /** Refuses the key for this long; default a minute. */
  ban(apiKey: string, ms?: number): void;
  /** What the limiter would tell the key now; nothing is taken. */
  quota(apiKey: string): Decision;
}

const OPTION_NAMES: Readonly<Record<keyof TestServiceOptions, true>> = {
  orders: true,
  plan: true,
  clock: true,
  basePath: true,
  addressPlan: true,
  draftFields: true,
};

/**
 * Creates a service of its own for each test. Throws a TypeError or RangeError that names the
 * option that is wrong. Its methods throw a RangeError for an API key that it has not issued.
 */
export function createTestService(options: TestServiceOptions = {}): TestService {
  checkOptions(options, Object.keys(OPTION_NAMES));
  const { orders = [], plan = PLANS.free, clock = createManualClock(), ...serviceOptions } = options;
  checkMethods('clock', clock, ['nowMs', 'utcOffsetMs', 'advance']);
  const limiter = createMemoryLimiter({ clock });
  const store = createMemoryOrderStore(orders);
  const principals = new Map<string, Principal>();
  const authenticate = (apiKey: string) => principals.get(apiKey);
  const createService = (store: OrderStore) => createOrderService({ ...serviceOptions, store, limiter, authenticate });
  const service = createService(store);
  const faults: TestFault[] = [];
  const transports = createTransports(service, createRespondWith(service, createService), () => faults.shift());

  function issueKey(bought: Plan = PLANS.free): string {
    const number = principals.size + 1;
    principals.set(`test-${number}-key`, { id: `test-${number}`, plan: bought });
    return `test-${number}-key`;
  }

  function principal(apiKey: string): Principal {
    const found = principals.get(apiKey);
    if (found === undefined) throw new RangeError('apiKey: expected one that this service has issued');
    return found;
  }

  function quota(apiKey: string): Decision {
    const { id, plan } = principal(apiKey);
    return limiter.peek(id, plan, 0);
  }

  return {
    url: `http://orders.test${options.basePath ?? '/v1'}`,
    ...transports,
    apiKey: issueKey(plan),
    clock,
    store,
    service,
    failNext(...next) {
      next.forEach(checkFault);
      faults.push(...next);
    },
    issueKey,
    quota,
    exhaust(apiKey) {
      const { id, plan } = principal(apiKey);
      limiter.take(id, plan, quota(apiKey).inForce.remaining);
    },
    ban: (apiKey, ms = 60_000) => limiter.ban(principal(apiKey).id, ms),
  };
}
