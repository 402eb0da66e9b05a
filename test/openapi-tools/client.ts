/**
 * Lists the orders, cancels the last one twice, and prints the results, with types that a public
 * generator has created from the document: `client.ts BASE_ADDRESS API_KEY`.
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
if (again.error === undefined) throw new Error('the second cancellation succeeded too');
const code: components['schemas']['Error']['code'] = again.error.code;

// @ts-expect-error the types list every code
code satisfies 'order_not_found';
// @ts-expect-error the types have each field's type
order?.quantity satisfies string | undefined;
// @ts-expect-error the types list every path
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
