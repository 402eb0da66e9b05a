import { createConnection, createServer } from 'node:net';
import type { TestContext } from 'node:test';
import { listenOnFreePort } from '../../../support/listen.js';

/** ReadyForQuery: PostgreSQL's message at the end of its first packet. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
/** ErrorResponse: the administrator has ended the connection. */
const ENDED = errorResponse('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');

export interface Proxy {
  /** Set to true, to end each new connection in the packet that says that it is ready. */
  endsAtOnce: boolean;
  readonly port: number;
}

/** Starts a proxy in front of a PostgreSQL server that listens on a unix socket. */
export async function startProxy(t: TestContext, socketPath: string): Promise<Proxy> {
  const proxy = { endsAtOnce: false, port: 0 };
  const server = createServer((client) => {
    const { endsAtOnce } = proxy;
    const engine = createConnection(socketPath);
    client.on('error', () => engine.destroy()).on('close', () => engine.destroy());
    engine.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.pipe(engine);
    engine.on('data', (bytes) => {
      if (endsAtOnce && bytes.subarray(-READY.length).equals(READY)) client.end(Buffer.concat([bytes, ENDED]));
      else client.write(bytes);
    });
  });
  proxy.port = await listenOnFreePort(server);
  t.after(() => server.close());
  return proxy;
}

function errorResponse(fields: string): Buffer {
  const message = Buffer.from(`E\0\0\0\0${fields}`);
  message.writeInt32BE(message.length - 1, 1);
  return message;
}
