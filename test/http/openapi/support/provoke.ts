import { type ErrorCode, PLANS, type Principal } from 'store-orders';
import { type Answer, createAnswer } from '../../support/answer.js';
import { authenticate, bearer, createShop, KEY, ORDERS, order, type Shop } from '../../support/shop.js';
import { asking } from '../../support/ways.js';
import { document, operationOf } from './validate.js';

type Fields = readonly (readonly [string, string])[];

interface Asking {
  readonly shop: Shop;
  /** Calls the tested operation, by default for its usual target. */
  ask(fields: Fields, target?: string): Promise<Answer>;
  askOther(method: string, target: string): Promise<Answer>;
}

export function askingFor(operation: string, shop: Shop): Asking {
  const { method, path } = operationOf(operation);
  const usual = `${document.servers[0]?.url}${path.replace('{orderId}', '1')}`;
  const requestId: readonly [string, string] = ['X-Request-Id', 'c0ffee00-1bad-4dea-8bee-5e1ec7ed1dea'];
  const ask = asking(shop.service);
  return {
    shop,
    ask: (fields, target = usual) => ask(method, target, [...fields, requestId]),
    askOther: (method, target) => ask(method, target, [KEY, requestId]),
  };
}

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

/** Provokes each error of the service. */
export const PROVOCATIONS: Readonly<Record<ErrorCode, (asking: Asking) => Promise<Answer>>> = {
  bad_request: ({ ask }) => ask([KEY, ['Host', 'a'], ['Host', 'b']]),
  missing_api_key: ({ ask }) => ask([]),
  invalid_api_key: ({ ask }) => ask([bearer('unknown')]),
  order_not_found: ({ ask }) => ask([KEY], order(999)),
  invalid_order_id: ({ ask }) => ask([KEY], order('01')),
  route_not_found: ({ askOther }) => askOther('GET', '/v1/store'),
  method_not_allowed: ({ askOther }) => askOther('POST', ORDERS),
  request_timeout: ({ shop }) => refused(shop, 'request_timeout'),
  order_already_shipped: ({ ask }) => ask([KEY], order(2)),
  order_already_cancelled: ({ ask }) => ask([KEY], order(3)),
  order_not_pending: ({ ask }) => ask([KEY], order(4)),
  precondition_failed: ({ ask }) => ask([KEY, ['If-Match', '"another"']]),
  uri_too_long: ({ ask }) => ask([KEY], `${ORDERS}?${'x'.repeat(10_000)}`),
  async rate_limit_exceeded({ ask }) {
    await ask([TINY]);
    await ask([TINY]);
    return ask([TINY]);
  },
  async api_key_banned({ ask, shop }) {
    await shop.limiter.ban('freya', 60_000);
    return ask([bearer('free-key')]);
  },
  headers_too_large: ({ shop }) => refused(shop, 'headers_too_large'),
  internal_error: ({ ask }) => ask([bearer('broken-key')]),
  method_not_implemented: ({ askOther }) => askOther('PROPFIND', ORDERS),
  async service_unavailable({ ask, shop }) {
    await shop.service.close();
    return ask([KEY]);
  },
};

export async function provoke(operation: string, code: ErrorCode): Promise<Answer> {
  const shop = createShop({ authenticate: (apiKey) => (apiKey === 'broken-key' ? BROKEN : authenticate(apiKey)) });
  return PROVOCATIONS[code](askingFor(operation, shop));
}

async function refused({ service }: Shop, code: 'request_timeout' | 'headers_too_large'): Promise<Answer> {
  const { status, headers, body } = await service.refuse(code, '192.0.2.1');
  return createAnswer(status, headers, String(body));
}
