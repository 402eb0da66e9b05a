import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { TestContext } from 'node:test';
import type { ListedOrders, OrderServiceOptions } from 'store-orders';
import { fetchHandler } from 'store-orders/fetch';
import { nodeHandler, type OrderService } from 'store-orders/handler';
import { fakeStore } from '../../support/fake-store.js';
import { serve } from '../mounts/support/servers.js';
import { type Answer, checkAnswer, createAnswer } from './answer.js';
import { createShop, type Shop } from './shop.js';

/** Sends one request to the service, and checks the rules that hold for every response. */
export type Ask = (
  method: string,
  target: string,
  fields?: readonly (readonly [string, string])[],
  content?: string,
) => Promise<Answer>;

/** A way to reach the service. */
export interface Way {
  readonly name: string;
  /**
   * Whether requests arrive exactly as they are sent. Otherwise a URL parser has normalised the
   * target, and `Headers` has joined fields of one name.
   */
  readonly isVerbatim: boolean;
  /** Opens this way until the end of the test. */
  readonly open: (t: TestContext, service: OrderService) => Ask | Promise<Ask>;
}

function checked(ask: Ask): Ask {
  return async (method, target, fields, content) => {
    const answer = await ask(method, target, fields, content);
    checkAnswer(answer, method);
    return answer;
  };
}

/** Returns a function that asks the service itself, without a mount. */
export function asking(service: OrderService): Ask {
  return checked(async (method, url, fields = [], content) => {
    const rawHeaders = fields.flat();
    if (content !== undefined) rawHeaders.push('Content-Length', `${content.length}`);
    const { status, headers, body } = await service.respond({ method, url, rawHeaders }, '192.0.2.1');
    return createAnswer(status, headers, await textOf(body));
  });
}

type Body = Awaited<ReturnType<OrderService['respond']>>['body'];

async function textOf(body: Body): Promise<string> {
  if (body === undefined || typeof body === 'string') return body ?? '';
  if (body instanceof Uint8Array) return Buffer.from(body).toString('latin1');
  let text = '';
  for await (const piece of body) text += Buffer.from(piece).toString('latin1');
  return text;
}

const core: Way = {
  name: 'the core, without a socket',
  isVerbatim: true,
  open: (_t, service) => asking(service),
};

const fetchMount: Way = {
  name: 'the fetch mount',
  isVerbatim: false,
  open(_t, service) {
    const handle = fetchHandler(service, { clientAddress: () => '192.0.2.1' });
    return checked(async (method, target, fields = []) => {
      const headers = new Headers();
      for (const [name, value] of fields) headers.append(name, value);
      const response = await handle(new Request(`http://orders.test${target}`, { method, headers }));
      const text = Buffer.from(await response.arrayBuffer()).toString('latin1');
      return createAnswer(response.status, [...response.headers].flat(), text);
    });
  },
};

const node: Way = {
  name: 'node:http over a socket',
  isVerbatim: true,
  async open(t, service) {
    const handle = nodeHandler(service);
    const port = await serve(t, handle.attach(createServer(handle)));
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    return checked((method, target, fields = [], content) => askNode({ agent, port }, method, target, fields, content));
  },
};

export async function askNode(
  { agent, port }: { readonly agent: Agent; readonly port: number },
  method: string,
  path: string,
  fields: readonly (readonly [string, string])[],
  content = '',
): Promise<Answer> {
  const headers = fields.flat();
  if (!fields.some(([name]) => name === 'Host')) headers.push('Host', 'orders.test');
  if (content !== '') headers.push('Content-Length', `${content.length}`);
  const request = httpRequest({ host: '127.0.0.1', port, agent, method, path, headers }).end(content);
  const response: IncomingMessage = (await once(request, 'response'))[0];
  const text = (await response.setEncoding('latin1').toArray()).join('');
  return createAnswer(response.statusCode ?? 0, response.rawHeaders, text);
}

export const WAYS: readonly Way[] = [core, node, fetchMount];

/** Creates a service, and opens it in one way until the end of the test. */
export async function openShop(
  t: TestContext,
  way: Way,
  options: Partial<OrderServiceOptions> = {},
): Promise<Shop & { readonly ask: Ask }> {
  const shop = createShop(options);
  return { ...shop, ask: await way.open(t, shop.service) };
}

/** Creates a service that lists these orders, and opens it in one way until the end of the test. */
export async function listing(t: TestContext, way: Way, listed: ListedOrders): Promise<Ask> {
  return (await openShop(t, way, { store: fakeStore({ list: () => listed }) })).ask;
}
