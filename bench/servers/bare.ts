import { createServer, type IncomingMessage } from 'node:http';
import { announce } from './announce.js';
import { CANCELLED, LISTED, MISSING } from './replies.js';

// The floor of the comparison: sends exactly the bytes that the service sends, without the work of
// the service.
const server = createServer((request, response) => {
  const { status, headers, body } = replyTo(request);
  response.writeHead(status, headers);
  response.end(body, 'latin1');
});
announce(server.listen(0, '127.0.0.1'));

function replyTo({ method, url }: IncomingMessage) {
  if (method === 'GET') return LISTED;
  return url === '/v1/store/orders/1' ? MISSING : CANCELLED;
}
