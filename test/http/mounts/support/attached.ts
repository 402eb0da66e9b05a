import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { ErrorCode } from 'store-orders';
import { assertError } from '../../support/answer.js';
import { exchange } from '../../support/raw-socket.js';
import type { Shop } from '../../support/shop.js';
import { SERVERS, serve } from './servers.js';

export const GARBAGE = 'NONSENSE\r\n\r\n';

/** Starts a server of which a test needs the events. */
export async function attached(t: TestContext, { service }: Shop) {
  const server = SERVERS['nodeHandler with attach'](service);
  return { server, port: await serve(t, server) };
}

export async function expectRefusal(port: number, code: ErrorCode, request: string) {
  const { answers, text } = await exchange(port, request);
  assert.equal(answers.length, 1, text.slice(0, 200));
  const [answer = assert.fail()] = answers;
  assertError(answer, code);
  assert.equal(answer.fields.get('connection'), 'close', request.slice(0, 200));
  assert.match(answer.fields.get('date') ?? '', /GMT$/);
  return answer;
}
