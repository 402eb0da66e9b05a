/** A client whose types come from a public generator, which read the OpenAPI document. Only compiled. */
import createClient from 'openapi-fetch';
import type { components, paths } from './generated/orders.js';

const client = createClient<paths>({ baseUrl: 'http://orders.test/v1' });

const { data: orders = [], response } = await client.GET('/store/orders');
response.headers.get('X-RateLimit-Remaining') satisfies string | null;
const order: components['schemas']['Order'] | undefined = orders.at(-1);
const orderId: number = order?.id ?? 0;

const cancelled = await client.DELETE('/store/orders/{orderId}', { params: { path: { orderId } } });
if (cancelled.error === undefined) throw new Error('the cancellation succeeded');
const code: components['schemas']['Error']['code'] = cancelled.error.code;

// @ts-expect-error `code` has several values
code satisfies 'order_not_found';
// @ts-expect-error `quantity` is a number
order?.quantity satisfies string | undefined;
// @ts-expect-error the API has no path `/pets/{petId}`
void (() => client.GET('/pets/{petId}'));
