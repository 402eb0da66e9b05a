import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { type Answer, checkAnswer, createAnswer } from './answer.js';

/**
 * Everything that arrived until the server closed or aborted the connection: as text, one character
 * for each byte, and as parsed responses.
 */
export interface Received {
  readonly text: string;
  readonly answers: readonly Answer[];
}

/** Opens a connection, writes the pieces, and reads until the server closes the connection. */
export function exchange(port: number, ...pieces: readonly string[]): Promise<Received> {
  return readAll(open(port, ...pieces));
}

/**
 * Opens a connection, and writes each piece in a call of its own, so that pieces arrive separately
 * if the server reads in between.
 */
export function open(port: number, ...pieces: readonly string[]): Socket {
  // The server must close the connection by itself, even if the client keeps its side open.
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  for (const piece of pieces) socket.write(piece, 'latin1');
  return socket;
}

export async function readAll(socket: Socket): Promise<Received> {
  const text = await readText(socket);
  return { text, answers: parse(text) };
}

/** Reads until the server ends the connection, by a FIN or by a reset. */
export function readText(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (piece) => {
    text += piece;
  });
  return new Promise((resolve) => {
    const done = () => {
      socket.destroy();
      resolve(text);
    };
    socket.on('end', done);
    socket.on('error', done);
  });
}

/**
 * Parses responses (RFC 9112) as far as this service uses the format: a Content-Length, or no
 * content.
 */
function parse(text: string): Answer[] {
  const answers: Answer[] = [];
  let rest = text;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    assert.ok(
      end > 0 && /^HTTP\/1\.1 [1-5][0-9]{2} [A-Za-z ]+\r\n/.test(rest),
      `no torn response: ${rest.slice(0, 80)}`,
    );
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const fields = lines.flatMap((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]);
    const head = createAnswer(Number(statusLine.split(' ')[1]), fields, '');
    const length = Number(head.fields.get('content-length') ?? 0);
    const answer = { ...head, text: rest.slice(end + 4, end + 4 + length) };
    assert.equal(answer.text.length, length, 'the response body is complete');
    checkAnswer(answer, 'GET');
    answers.push(answer);
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}
