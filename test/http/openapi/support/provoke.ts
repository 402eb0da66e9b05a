import { type ErrorCode, type OrderServiceOptions, PLANS, type Principal } from 'store-orders';
import type { Answer } from '../../support/answer.js';
import { createAnswer } from '../../support/answer.js';
import { authenticate, bearer, createShop, KEY, ORDERS, order, type Shop } from '../../support/shop.js';
import { core } from '../../support/ways.js';

/** Provokes an error of the service. `asking` sends requests to the tested operation. */
interface Provocation {
  readonly options?: Partial<OrderServiceOptions>;
  provoke(asking: Asking): Promise<Answer>;
}

export interface Asking {
  readonly shop: Shop;
  /** Calls the tested operation with these header fields. `change` can replace the target. */
  ask(fields: readonly (readonly [string, string])[], change?: (target: string) => string): Promise<Answer>;
  askOther(method: string, target: string): Promise<Answer>;
}

export type Operation = 'listOrders' | 'cancelOrder';

const REQUESTS: Readonly<Record<Operation, readonly [method: string, target: string]>> = {
  listOrders: ['GET', ORDERS],
  cancelOrder: ['DELETE', order(1)],
};

const TINY = bearer('tiny-key');

/**
 * A principal whose id throws, so the service fails although the store, the limiter and
 * `authenticate` succeed.
 */
const BROKEN: Principal = {
  get id(): string {
    throw new Error('broken');
  },
  plan: PLANS.free,
};

export const PROVOCATIONS: Readonly<Record<ErrorCode, Provocation>> = {
  bad_request: { provoke: ({ ask }) => ask([KEY, ['Host', 'a'], ['Host', 'b']]) },
  missing_api_key: { provoke: ({ ask }) => ask([]) },
  invalid_api_key: { provoke: ({ ask }) => ask([bearer('unknown')]) },
  order_not_found: { provoke: ({ ask }) => ask([KEY], () => order(999)) },
  invalid_order_id: { provoke: ({ ask }) => ask([KEY], () => order('01')) },
  route_not_found: { provoke: ({ askOther }) => askOther('GET', '/v1/store') },
  method_not_allowed: { provoke: ({ askOther }) => askOther('POST', ORDERS) },
  request_timeout: { provoke: ({ shop }) => refused(shop, 'request_timeout') },
  order_already_shipped: { provoke: ({ ask }) => ask([KEY], () => order(2)) },
  order_already_cancelled: { provoke: ({ ask }) => ask([KEY], () => order(3)) },
  order_not_pending: { provoke: ({ ask }) => ask([KEY], () => order(4)) },
  precondition_failed: { provoke: ({ ask }) => ask([KEY, ['If-Match', '"another"']]) },
  uri_too_long: { provoke: ({ ask }) => ask([KEY], (target) => `${target}?${'x'.repeat(10_000)}`) },
  rate_limit_exceeded: {
    async provoke({ ask }) {
      await ask([TINY]);
      await ask([TINY]);
      return ask([TINY]);
    },
  },
  api_key_banned: {
    async provoke({ ask, shop }) {
      await shop.limiter.ban('freya', 60_000);
      return ask([bearer('free-key')]);
    },
  },
  headers_too_large: { provoke: ({ shop }) => refused(shop, 'headers_too_large') },
  internal_error: {
    options: { authenticate: (apiKey) => (apiKey === 'free-key' ? BROKEN : authenticate(apiKey)) },
    provoke: ({ ask }) => ask([bearer('free-key')]),
  },
  method_not_implemented: { provoke: ({ askOther }) => askOther('PROPFIND', ORDERS) },
  service_unavailable: {
    async provoke({ ask, shop }) {
      await shop.service.close();
      return ask([KEY]);
    },
  },
};

export async function provoke(operation: Operation, code: ErrorCode): Promise<Answer> {
  const { options, provoke } = PROVOCATIONS[code];
  return withAsking(operation, createShop(options), provoke);
}

export async function withAsking<T>(operation: Operation, shop: Shop, use: (asking: Asking) => Promise<T>): Promise<T> {
  const [method, target] = REQUESTS[operation];
  const requestId: readonly [string, string] = ['X-Request-Id', 'c0ffee00-1bad-4dea-8bee-5e1ec7ed1dea'];
  const opened = await core.open(shop.service);
  try {
    return await use({
      shop,
      ask: (fields, change = (same) => same) => opened.ask(method, change(target), [...fields, requestId]),
      askOther: (method, target) => opened.ask(method, target, [KEY, requestId]),
    });
  } finally {
    await opened.close();
  }
}

async function refused({ service }: Shop, code: 'request_timeout' | 'headers_too_large'): Promise<Answer> {
  const { status, headers, body } = await service.refuse(code, '192.0.2.1');
  return createAnswer(status, headers, String(body));
}
