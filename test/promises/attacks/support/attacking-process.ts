import { connect, type Socket } from 'node:net';
import { createApiKey } from '../../../../dist/program/keys/api-key.js';

// Attacks a server on this machine for some seconds, from many addresses of the loopback interface.
// Then prints its figures as one JSON object, and exits.

const [attack = '', port = '', seconds = '', count = '', from = '', ...keys] = process.argv.slice(2);
const endMs = performance.now() + Number(seconds) * 1_000;
const figures = { opened: 0, closed: 0, requests: 0 };

const ORDERS = '/v1/store/orders';
const PATHS = [ORDERS, '/openapi.json', '/docs', '/readyz', '/healthz', '/'];
/** The maximum size of one write to a socket. */
const PIECE_BYTES = 65_536;

function request(path: string, fields = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n${fields}\r\n`;
}

function send(socket: Socket, path: string, requests: number): void {
  socket.write(request(path).repeat(requests));
  figures.requests += requests;
}

/** Sends pipelined requests until the attack ends, as fast as the server reads them. */
function flood(socket: Socket, fields = ''): void {
  const one = request(ORDERS, fields);
  const perPiece = Math.floor(PIECE_BYTES / one.length);
  const piece = one.repeat(perPiece);
  const write = (): void => {
    if (socket.destroyed || performance.now() > endMs) return;
    figures.requests += perPiece;
    if (socket.write(piece)) setImmediate(write);
    else socket.once('drain', write);
  };
  write();
}

function every(socket: Socket, ms: number, act: () => void): void {
  const timer = setInterval(act, ms);
  socket.once('close', () => clearInterval(timer));
}

/** The kinds of attack. Each function attacks on one new connection. */
const ATTACKS: Readonly<Record<string, (socket: Socket, index: number) => void>> = {
  'slow heads': (socket) => {
    socket.resume().write(`GET ${ORDERS} HTTP/1.1\r\nHost: x\r\nX-Slow: `);
    every(socket, 500, () => socket.write('x'));
  },
  'slow bodies': (socket) => {
    socket.resume().write(`POST ${ORDERS} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`);
    every(socket, 500, () => socket.write('x'));
  },
  'slow readers': (socket, index) => {
    send(socket.pause(), PATHS[index % PATHS.length] ?? ORDERS, 16);
    every(socket, 500, () => socket.read(100));
  },
  'non-readers': (socket) => flood(socket.pause()),
  'without a key': (socket) => flood(socket.resume()),
  'guessed keys': (socket) => flood(socket.resume(), `Authorization: Bearer ${createApiKey()}\r\n`),
  connections: (socket) => socket.resume().end(),
  silence: (socket) => socket.resume(),
  newcomers: (socket) => socket.resume(),
  'line breaks': (socket) => {
    send(socket.resume(), ORDERS, 1);
    every(socket, 1_000, () => socket.write('\r\n'));
  },
  'valid keys': (socket, index) => {
    const fields = `Authorization: Bearer ${keys[index % keys.length]}\r\n`;
    socket.resume().write(request(ORDERS, fields));
    every(socket, 2_000, () => socket.write(request(ORDERS, fields)));
  },
  'slow lists': (socket, index) => {
    const fields = `Authorization: Bearer ${keys[index % keys.length]}\r\n`;
    socket.pause().write(request(ORDERS, fields).repeat(3));
    every(socket, 200, () => socket.read(4_096));
    // Comes back, because a client that reads slowly notices late that it was cut off.
    setTimeout(() => socket.destroy(), 10_000).unref();
  },
  'forty at a time': (socket) => send(socket.resume(), ORDERS, 40),
};

function start(index: number): void {
  // `from` is one address, or a number of addresses.
  const localAddress = from.includes('.') ? from : `127.0.100.${1 + (index % Number(from))}`;
  const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  socket.on('connect', () => {
    figures.opened++;
    ATTACKS[attack]?.(socket, index);
  });
  // For a client that reads nothing, this event is the first sign that the server has closed the
  // connection.
  socket.on('close', () => {
    figures.closed++;
    if (attack !== 'newcomers' && performance.now() < endMs) setImmediate(start, index);
  });
}

if (attack === 'newcomers') {
  // `count` new connections each second. After a pause of more than 50 ms, the rest is not made up
  // for, because that would be a flood of many more a second.
  let started = 0;
  let due = 0;
  let lastMs = performance.now();
  setInterval(() => {
    const nowMs = performance.now();
    due += (Math.min(nowMs - lastMs, 50) / 1_000) * Number(count);
    lastMs = nowMs;
    for (; due >= 1; due--) start(started++);
  }, 5);
} else {
  for (let index = 0; index < Number(count); index++) setTimeout(start, index, index);
}
setTimeout(() => {
  console.log(JSON.stringify(figures));
  process.exit();
}, endMs - performance.now());
