import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { answerOf, issueKey, type RunningServer, run, startServer } from './program.js';

export async function drain(server: RunningServer, apiKey: string, requests: number): Promise<void> {
  for (let i = 0; i < requests; i++) await (await server.get(apiKey)).arrayBuffer();
}

export async function remaining(server: RunningServer, apiKey: string): Promise<string | null> {
  return (await server.get(apiKey)).headers.get('x-ratelimit-remaining');
}

async function bodyOf(server: RunningServer, apiKey: string): Promise<string> {
  return (await server.get(apiKey)).text();
}

export interface Place {
  readonly name: string;
  /** Returns the environment variables for the program. Called when a test begins. */
  env(): Readonly<Record<string, string>>;
  /** Returns where quotas are kept, as the commands print it. */
  place(): string;
  /** Whether a process caches refusals, so that few of them count towards a ban. */
  readonly cachesRefusals?: boolean;
}

/** Tests the commands on quotas, for quotas in a file or in Redis. */
export function testQuotaCommands({ name, env, place, cachesRefusals }: Place): void {
  test(`"quota show" prints the quotas that a running server counts; the server applies "quota reset" and "ban lift": ${name}`, async (t) => {
    const options = { cwd: temporaryDirectory(), env: env() };
    const { cwd } = options;
    const server = await startServer(t, options);
    const { key, id } = await issueKey(cwd, 'enterprise', '--per-minute', '3', '--per-day', '90');
    const idle = await run(['quota', 'show', id], options);
    assert.equal(
      idle.stdout,
      `${id}: enterprise, 3 per minute, 90 per day\nminute: 3 of 3 left\nday: 90 of 90 left\nnot banned\n`,
    );

    await drain(server, key, 4);
    await until(async () => {
      const shown = JSON.stringify(await answerOf(['quota', 'show', id], options));
      return /"quota":3,"remaining":0,"resetAt":"[^"]+Z".*"quota":90,"remaining":87,.*"bannedUntil":null/.test(shown);
    }, 1_500);

    assert.equal(
      (await run(['quota', 'reset', id], options)).stdout,
      `${id} has its full quotas again (quotas in ${place()})\n`,
    );
    await until(async () => (await server.get(key)).status === 200, 1_000);

    // Only refusals that come more than 2 s after the first one count towards a ban. Twenty of them
    // start a ban.
    await drain(server, key, 3);
    if (cachesRefusals) {
      await run(['ban', 'set', id, '--for', '1h'], options);
      await sleep(1_000);
    } else {
      await sleep(2_050);
      await drain(server, key, 20);
    }
    assert.match(await bodyOf(server, key), /"code":"api_key_banned"/);
    await sleep(600);
    assert.match((await run(['quota', 'show', id], options)).stdout, /\nbanned until \S+Z\n$/);
    assert.equal(
      (await run(['ban', 'lift', id], options)).stdout,
      `${id} is no longer banned (quotas in ${place()})\n`,
    );
    await until(async () => (await bodyOf(server, key)).includes('"rate_limit_exceeded"'), 1_000);
    assert.match((await run(['quota', 'show', id], options)).stdout, /: 0 of 3 left.*\nday: /);

    const absent = await run(['quota', 'show', 'key_absent'], options);
    assert.deepEqual(
      [absent.code, absent.stderr],
      [1, 'store-orders: the key key_absent does not exist; run "store-orders keys list"\n'],
    );
  });

  test(`a restarted server keeps the used quotas, and applies a "quota reset" that was given while no server ran: ${name}`, async (t) => {
    const options = { cwd: temporaryDirectory(), env: env() };
    const { cwd } = options;
    const first = await startServer(t, options);
    const a = await issueKey(cwd, 'enterprise', '--per-day', '10');
    const b = await issueKey(cwd, 'enterprise', '--per-day', '10');
    await drain(first, a.key, 4);
    await drain(first, b.key, 11);
    assert.equal(await first.stop('SIGTERM'), 0);
    await answerOf(['quota', 'reset', b.id], options);
    assert.match((await run(['quota', 'show', b.id], options)).stdout, /day: 10 of 10 left\n/);

    const second = await startServer(t, options);
    assert.equal(await remaining(second, a.key), '5');
    assert.equal(await remaining(second, b.key), '9');
  });
}
