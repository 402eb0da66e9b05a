import { createServer } from 'node:http';
import { announce } from '../announce.js';
import { consume, limitFields } from './flexible-union.js';
import { cancel, keyIdOf, LIST_BODY, NOT_FOUND_BODY, refill } from './usual-parts.js';

// A node:http server that calls rate-limiter-flexible directly, as the documentation of
// rate-limiter-flexible shows.
const server = createServer(async (request, response) => {
  const keyId = keyIdOf(request.headers.authorization);
  if (keyId === undefined) {
    response.writeHead(401).end();
    return;
  }
  const taken = await consume(keyId);
  if (taken === undefined) {
    response.writeHead(429).end('Too Many Requests');
    return;
  }
  const { method, url = '' } = request;
  const status = method === 'GET' ? 200 : cancel(url.slice('/v1/store/orders/'.length));
  const body = { 200: LIST_BODY, 404: NOT_FOUND_BODY, 204: undefined, 409: undefined }[status];
  const fields = body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': body.length };
  response.writeHead(status, { ...fields, ...limitFields(taken) });
  response.end(body);
});
announce(server.listen(0, '127.0.0.1'), refill);
