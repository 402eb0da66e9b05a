import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import type { TestContext } from 'node:test';
import { startServer } from '../../server/support/program.js';
import { createClient, type Answer as HttpAnswer } from './client.js';
import type { Answer } from './reopened.js';

export interface Cancelling {
  readonly file: string;
  /** Absent for a new file, which has no key. */
  readonly apiKey?: string | undefined;
  readonly ids: readonly bigint[];
  /** The command that the server runs under, such as strace. */
  readonly under: readonly string[];
  /** How long the server may live. */
  readonly deadlineMs: number;
}

export interface Cancelled {
  readonly answers: readonly Answer[];
  /** The responses to the second attempts of the cancels that were refused at first. */
  readonly again: readonly Answer[];
  /** False if the server could not open the file and ended. */
  readonly wentOn: boolean;
}

/**
 * Starts a server and cancels the orders one after the other. Then sends the refused cancels again,
 * requests the list, and kills the server. Every cancel must get 204, or 503 with `Retry-After`. A
 * server that does not start to serve must exit by itself with an error.
 */
export async function cancelAtServer(t: TestContext, cancelling: Cancelling): Promise<Cancelled> {
  const { file, apiKey, ids, under, deadlineMs } = cancelling;
  const parameters = ['--db', file, '--log', 'events', ...(apiKey === undefined ? [] : ['--no-sample'])];
  const startMs = performance.now();
  const server = await startServer(t, { cwd: dirname(file), under }, ...parameters).catch((reason) => {
    assert.match(String(reason), /the server ended with [1-9]/);
    assert.ok(performance.now() - startMs < deadlineMs);
    return undefined;
  });
  if (server === undefined) return { answers: [], again: [], wentOn: false };
  const late = setTimeout(() => server.child.kill('SIGKILL'), deadlineMs);
  const client = createClient(server.url, apiKey ?? 'none');
  const cancelEach = async (asked: readonly bigint[]) => {
    const answers: Answer[] = [];
    for (const id of asked) answers.push({ id, outcome: outcomeOf(await client.cancel(id)) });
    return answers;
  };
  try {
    if (apiKey === undefined) {
      assert.equal((await client.list()).status, 401);
      return { answers: [], again: [], wentOn: true };
    }
    const answers = await cancelEach(ids);
    const again = await cancelEach(answers.filter(({ outcome }) => outcome !== 'cancelled').map(({ id }) => id));
    assert.equal((await client.list()).status, 200);
    return { answers, again, wentOn: true };
  } finally {
    client.close();
    clearTimeout(late);
    await server.stop('SIGKILL');
  }
}

function outcomeOf({ status, headers, body }: HttpAnswer): string {
  if (status === 204) return 'cancelled';
  assert.deepEqual(Object.keys(JSON.parse(body)).sort(), ['code', 'message', 'status']);
  const { code, status: named } = JSON.parse(body);
  assert.deepEqual([status, code, named, headers['retry-after']], [503, 'service_unavailable', 503, '1']);
  return 'rejected';
}
