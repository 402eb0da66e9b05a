import { connect, type Socket } from 'node:net';

// Attacks a server on this machine for some seconds, from many addresses of the loopback interface.
// Then prints its figures as one JSON object, and exits.

const [attack = '', portText = '', secondsText = '', countText = '', from = ''] = process.argv.slice(2);
const port = Number(portText);
const count = Number(countText);
const endMs = performance.now() + Number(secondsText) * 1_000;

const PATHS = ['/v1/store/orders', '/openapi.json', '/docs', '/readyz', '/healthz', '/'];
/** The maximum size of one write to a socket. */
const PIECE_BYTES = 65_536;

interface Figures {
  opened: number;
  closed: number;
  requests: number;
}

/** Returns the source address of a connection: `from`, or one of that many addresses. */
function addressOf(index: number): string {
  return from.includes('.') ? from : `127.0.100.${1 + (index % Number(from))}`;
}

function request(path: string, fields = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n${fields}\r\n`;
}

/** Sends requests until the attack ends, as fast as the server reads them. */
function flood(socket: Socket, requests: string, perPiece: number, figure: Figures): void {
  const write = (): void => {
    if (socket.destroyed || performance.now() > endMs) return;
    figure.requests += perPiece;
    if (socket.write(requests)) setImmediate(write);
    else socket.once('drain', write);
  };
  write();
}

function pipelined(path: string, fields = ''): readonly [requests: string, perPiece: number] {
  const one = request(path, fields);
  const perPiece = Math.floor(PIECE_BYTES / one.length);
  return [one.repeat(perPiece), perPiece];
}

function every(socket: Socket, ms: number, act: () => void): void {
  const timer = setInterval(act, ms);
  socket.once('close', () => clearInterval(timer));
}

/** The kinds of attack. Each function attacks on one new connection. */
const ATTACKS: Readonly<Record<string, (socket: Socket, path: string, figure: Figures) => void>> = {
  'slow heads': (socket, path) => {
    socket.resume().write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Slow: `);
    every(socket, 500, () => socket.write('x'));
  },
  'slow bodies': (socket, path) => {
    socket.resume().write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`);
    every(socket, 500, () => socket.write('x'));
  },
  'slow readers': (socket, path, figure) => {
    socket.pause().write(request(path).repeat(16));
    figure.requests += 16;
    every(socket, 500, () => socket.read(100));
  },
  'non-readers': (socket, path, figure) => flood(socket.pause(), ...pipelined(path), figure),
  'without a key': (socket, path, figure) => flood(socket.resume(), ...pipelined(path), figure),
  'made-up keys': (socket, path, figure) => {
    const key = `so_${Array.from({ length: 38 }, () => Math.floor(Math.random() * 36).toString(36)).join('')}`;
    flood(socket.resume(), ...pipelined(path, `Authorization: Bearer ${key}\r\n`), figure);
  },
  connections: (socket) => socket.resume().end(),
  silence: (socket) => socket.resume(),
  'line breaks': (socket, path, figure) => {
    socket.resume().write(request(path));
    figure.requests++;
    every(socket, 1_000, () => socket.write('\r\n'));
  },
  'forty at a time': (socket, path, figure) => {
    socket.resume().write(request(path).repeat(40));
    figure.requests += 40;
  },
};

const figure = { opened: 0, closed: 0, requests: 0 };

function start(index: number): void {
  const [orders = ''] = PATHS;
  const path = attack === 'slow readers' ? PATHS[index % PATHS.length] : orders;
  const socket = connect({ port, host: '127.0.0.1', localAddress: addressOf(index) });
  socket.on('error', () => {});
  socket.on('connect', () => {
    figure.opened++;
    ATTACKS[attack]?.(socket, path ?? orders, figure);
  });
  // For a client that reads nothing, this event is the first sign that the server has closed the
  // connection.
  socket.on('close', () => {
    figure.closed++;
    if (performance.now() < endMs) setImmediate(start, index);
  });
}

for (let index = 0; index < count; index++) setTimeout(start, index, index);
setTimeout(() => {
  console.log(JSON.stringify(figure));
  process.exit();
}, endMs - performance.now());
