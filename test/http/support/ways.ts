import { Agent, createServer, request as httpRequest, type RequestListener, type Server } from 'node:http';
import type { OrderServiceOptions } from 'store-orders';
import { fetchHandler } from 'store-orders/fetch';
import { nodeHandler, type OrderService } from 'store-orders/handler';
import { listenOnFreePort } from '../../support/listen.js';
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
  readonly open: (service: OrderService) => Promise<{ readonly ask: Ask; readonly close: () => Promise<void> }>;
}

function checked(ask: Ask): Ask {
  return async (method, target, fields, content) => {
    const answer = await ask(method, target, fields, content);
    checkAnswer(answer, method);
    return answer;
  };
}

export const core: Way = {
  name: 'the core, without a socket',
  isVerbatim: true,
  open: async (service) => ({
    ask: checked(async (method, url, fields = [], content) => {
      const rawHeaders = fields.flat();
      if (content !== undefined) rawHeaders.push('Content-Length', `${content.length}`);
      const { status, headers, body } = await service.respond({ method, url, rawHeaders }, '192.0.2.1');
      return createAnswer(status, headers, await textOf(body));
    }),
    close: async () => {},
  }),
};

type Body = Awaited<ReturnType<OrderService['respond']>>['body'];

async function textOf(body: Body): Promise<string> {
  if (body === undefined || typeof body === 'string') return body ?? '';
  if (body instanceof Uint8Array) return Buffer.from(body).toString('latin1');
  let text = '';
  for await (const piece of body) text += Buffer.from(piece).toString('latin1');
  return text;
}

const fetchMount: Way = {
  name: 'the fetch mount',
  isVerbatim: false,
  open: async (service) => {
    const handle = fetchHandler(service, { clientAddress: () => '192.0.2.1' });
    return {
      ask: checked(async (method, target, fields = []) => {
        const headers = new Headers();
        for (const [name, value] of fields) headers.append(name, value);
        const response = await handle(new Request(`http://orders.test${target}`, { method, headers }));
        return createAnswer(
          response.status,
          [...response.headers].flat(),
          Buffer.from(await response.arrayBuffer()).toString('latin1'),
        );
      }),
      close: async () => {},
    };
  },
};

/** Starts a server on a free port of the loopback interface. */
export async function listen(
  listener: RequestListener,
  options: Parameters<typeof createServer>[0] = {},
): Promise<{ readonly server: Server; readonly port: number; readonly close: () => Promise<void> }> {
  const server = createServer({ requireHostHeader: false, ...options }, listener);
  // Without `unref`, a test that fails before it closes its server would hang.
  server.unref();
  return {
    server,
    port: await listenOnFreePort(server),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const node: Way = {
  name: 'node:http over a socket',
  isVerbatim: true,
  open: async (service) => {
    const { server, port, close } = await listen(nodeHandler(service));
    nodeHandler(service).attach(server);
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    return {
      ask: checked((method, target, fields = [], content) => askNode({ agent, port }, method, target, fields, content)),
      close: () => {
        agent.destroy();
        return close();
      },
    };
  },
};

export function askNode(
  { agent, port }: { readonly agent: Agent; readonly port: number },
  method: string,
  path: string,
  fields: readonly (readonly [string, string])[],
  content = '',
): Promise<Answer> {
  const headers = fields.flat();
  if (!fields.some(([name]) => name === 'Host')) headers.push('Host', 'orders.test');
  if (content !== '') headers.push('Content-Length', `${content.length}`);
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, agent, method, path, headers }, (response) => {
      let text = '';
      response.setEncoding('latin1');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve(createAnswer(response.statusCode ?? 0, response.rawHeaders, text)));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(content);
  });
}

export const WAYS: readonly Way[] = [core, node, fetchMount];

/** Creates a service, and opens it for the time of `use`. */
export async function withShop(
  way: Way,
  use: (ask: Ask, shop: Shop) => Promise<void>,
  options: Partial<OrderServiceOptions> = {},
): Promise<void> {
  const shop = createShop(options);
  const { ask, close } = await way.open(shop.service);
  try {
    await use(ask, shop);
  } finally {
    await close();
  }
}
