import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Link {
  readonly port: number;
  /** The delay of every byte in each direction. */
  delayMs: number;
  /**
   * If `isOn`, holds back all bytes in both directions. Otherwise sends the held bytes on. As with
   * TCP, no byte is lost.
   */
  blackhole(isOn: boolean): void;
  stop(): void;
}

/** Starts a proxy between a client and the server at `toPort`. */
export async function startLink(toPort: number): Promise<Link> {
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  let isHolding = false;

  function pass(from: Socket, to: Socket): void {
    sockets.add(from);
    from.setNoDelay(true);
    from.on('data', (bytes) => {
      const write = () => {
        if (isHolding) held.push(write);
        else to.write(bytes);
      };
      if (link.delayMs > 0) setTimeout(write, link.delayMs);
      else write();
    });
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  }

  const server = createServer((client) => {
    const upstream = connect(toPort, '127.0.0.1');
    pass(client, upstream);
    pass(upstream, client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  const link: Link = {
    port: (server.address() as AddressInfo).port,
    delayMs: 0,
    blackhole(isOn) {
      isHolding = isOn;
      if (!isOn) for (const write of held.splice(0)) write();
    },
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return link;
}
