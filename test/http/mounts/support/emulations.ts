import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toFetchResponse, toReqRes } from 'fetch-to-node';
import inject from 'light-my-request';
import { fetchNodeRequestHandler } from 'node-mock-http';
import { createRequest, createResponse } from 'node-mocks-http';
import serverless from 'serverless-http';
import type { LambdaEvent } from '../../../../examples/aws-lambda.js';

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;
type Answer = (request: Request) => Promise<Response>;

/** The client's address, as AWS reports it. */
const SOURCE_IP = '203.0.113.9';

/** Calls a function of AWS Lambda as API Gateway does for an HTTP API. */
export function gateway(handle: (event: LambdaEvent, context: object) => Promise<object>): Answer {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const event = {
      version: '2.0',
      rawPath: pathname,
      rawQueryString: search.slice(1),
      headers: Object.fromEntries(request.headers),
      requestContext: { http: { method: request.method, path: pathname, sourceIp: SOURCE_IP } },
      body: await request.text(),
      isBase64Encoded: false,
    };
    const { statusCode, headers, body, isBase64Encoded } = Object(await handle(event, {}));
    return responseOf(statusCode, headers, Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8'));
  };
}

/** Emulations of node:http. Each calls a listener with objects like those of node:http. */
export const EMULATIONS = {
  'serverless-http': (listener: Listener) => gateway(serverless(listener)),

  'light-my-request': (listener: Listener) => async (request: Request) => {
    const payload = Buffer.from(await request.arrayBuffer());
    const { statusCode, headers, rawPayload } = await inject(listener, { ...wordsOf(request), payload }).end();
    return responseOf(statusCode, headers, rawPayload);
  },

  'node-mocks-http': (listener: Listener) => async (request: Request) => {
    const mock = createRequest<IncomingMessage>(wordsOf(request));
    const response = createResponse({ eventEmitter: EventEmitter, req: mock });
    const ended = once(response, 'end');
    listener(mock, response);
    await ended;
    // The mock keeps written bytes and written strings apart.
    const body = Buffer.concat([response._getBuffer(), Buffer.from(response._getData())]);
    return responseOf(response.statusCode, response._getHeaders(), body);
  },

  'fetch-to-node': (listener: Listener) => (request: Request) => {
    const { req, res } = toReqRes(request);
    listener(req, res);
    return toFetchResponse(res);
  },

  'node-mock-http': (listener: Listener) => async (request: Request) => {
    const { method, headers } = wordsOf(request);
    return fetchNodeRequestHandler(listener, request.url, { method, headers, body: await request.text() });
  },
} as const satisfies Readonly<Record<string, (listener: Listener) => Answer>>;

function wordsOf(request: Request) {
  const { pathname, search } = new URL(request.url);
  // The emulations declare their methods as names, not as any text.
  const { method } = Object(request);
  return { method, url: pathname + search, headers: Object.fromEntries(request.headers) };
}

function responseOf(status: number, fields: object, body: Uint8Array): Response {
  const headers = new Headers(Object.entries(fields).map(([name, value]) => [name, String(value)]));
  return new Response(status === 204 || status === 304 ? null : body, { status, headers });
}
