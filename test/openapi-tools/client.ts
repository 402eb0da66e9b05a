/**
 * Lists the orders, cancels the last order twice, and prints the results. The types of the requests
 * and responses come from a public generator, which read the OpenAPI document. Usage: `client.ts
 * BASE_ADDRESS API_KEY`.
 */
import createClient from 'openapi-fetch';
import type { components, paths } from './generated/orders.js';

const [baseUrl = '', apiKey = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${apiKey}` } });

const { data: orders = [], response } = await client.GET('/store/orders');
const remaining: string | null = response.headers.get('X-RateLimit-Remaining');
const order: components['schemas']['Order'] | undefined = orders.at(-1);
const orderId: number = order?.id ?? 0;

const cancelled = await client.DELETE('/store/orders/{orderId}', { params: { path: { orderId } } });
const again = await client.DELETE('/store/orders/{orderId}', { params: { path: { orderId } } });
if (again.error === undefined) throw new Error('the second cancellation of the order succeeded');
const code: components['schemas']['Error']['code'] = again.error.code;

// @ts-expect-error `code` has several values
code satisfies 'order_not_found';
// @ts-expect-error `quantity` is a number
order?.quantity satisfies string | undefined;
// @ts-expect-error the API has no path `/pets/{petId}`
void (() => client.GET('/pets/{petId}'));

console.log(
  JSON.stringify({
    count: orders.length,
    remaining,
    orderId,
    statuses: [cancelled.response.status, again.response.status],
    code,
  }),
);
