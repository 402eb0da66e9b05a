import { once } from 'node:events';
import { connect } from 'node:net';

export const KEYED = 'GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ours\r\n\r\n';
export const KEYLESS = 'GET /v1/store/orders HTTP/1.1\r\nHost: x\r\n\r\n';

export type Client = Awaited<ReturnType<typeof connectFrom>>;

/** Connects from `localAddress`, which may be any address of the loopback interface. */
export async function connectFrom(port: number, localAddress = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  let isClosed = false;
  socket.on('error', () => {}).resume();
  socket.on('close', () => {
    isClosed = true;
  });
  await once(socket, 'connect');
  return {
    socket,
    isClosed: () => isClosed,
    /** Sends a request and returns the status of its response, or `closed`. */
    async ask(request: string): Promise<string> {
      if (isClosed) return 'closed';
      const answered = new Promise<string>((resolve) => {
        socket.once('data', (data) => resolve(String(data).slice(9, 12)));
        socket.once('close', () => resolve('closed'));
      });
      socket.write(request);
      return answered;
    },
  };
}
