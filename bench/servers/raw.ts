import { createServer } from 'node:net';
import { announce } from './announce.js';
import { CANCELLED, LISTED, MISSING } from './replies.js';

// A second server for comparison, which does even less than bare.ts. It sends the same bytes
// without node:http, and looks only at the beginning and the end of a request.
const END = '\r\n\r\n';
const SECOND_MS = 1_000;
let answers = print();
setInterval(() => {
  answers = print();
}, SECOND_MS);

function print() {
  const date = new Date().toUTCString();
  const [listed = '', missing = '', cancelled = ''] = [LISTED, MISSING, CANCELLED].map(
    ({ status, headers, body = '' }) => {
      const reason = { 200: 'OK', 204: 'No Content', 404: 'Not Found' }[status];
      const fields = [...headers, 'Date', date, 'Connection', 'keep-alive', 'Keep-Alive', 'timeout=5'];
      const lines = fields.map((text, index) => (index % 2 === 0 ? `\r\n${text}` : text));
      const head = lines.reduce((all, text, index) => all + (index % 2 === 0 ? text : `: ${text}`), '');
      return `HTTP/1.1 ${status} ${reason}${head}${END}${body}`;
    },
  );
  return { listed, missing, cancelled };
}

function answerTo(request: string): string {
  if (request.startsWith('GET')) return answers.listed;
  return request.startsWith('DELETE /v1/store/orders/1 ') ? answers.missing : answers.cancelled;
}

const server = createServer((socket) => {
  socket
    .setNoDelay(true)
    .setEncoding('latin1')
    .on('error', () => {});
  socket.on('data', (text) => {
    // Each chunk is a whole request. A request is small enough to arrive in one piece, and the load
    // generator waits for the response before it sends the next request.
    for (const request of `${text}`.split(END).slice(0, -1)) socket.write(answerTo(request), 'latin1');
  });
});
announce(server.listen(0, '127.0.0.1'));
