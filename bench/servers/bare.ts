import { createServer, type IncomingMessage } from 'node:http';
import { announce } from './announce.js';
import { CANCELLED, LISTED, MISSING } from './replies.js';

// The server that all others are compared with. It sends exactly the bytes that the service sends,
// without doing the service's work.
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
