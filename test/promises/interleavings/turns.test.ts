import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createFairTurns } from '../../../dist/http/list/fair-turns.js';
import { play } from './support/play.js';

test('in any order of turns, each key has one, few keys have one, keys take turns, and each request ends', () =>
  play(
    fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      act: fc.constantFrom('work', 'work', 'slow', 'hang up'),
    }),
    (s) => {
      const turns = createFairTurns(2, 5_000);
      const working = new Set<string>();
      const slow = new Set<string>();
      const hungUp = new Set<number>();
      /** The keys of the requests that wait, by the number of the request. */
      const waiting = new Map<number, string>();
      /** The keys that began while a key waited for its turn. */
      const passed = new Map<string, string[]>();
      let requests = 0;
      let pending = 0;
      let failed: unknown;

      function noteTurn(key: string): void {
        const queued = [...waiting].filter(([number, other]) => !hungUp.has(number) && !working.has(other));
        for (const other of new Set(queued.map(([, other]) => other))) {
          const before = passed.get(other) ?? [];
          assert.ok(other === key || !before.includes(key), `${key} has a second turn while ${other} waits`);
          passed.set(other, [...before, key]);
        }
        passed.delete(key);
      }

      async function request(key: string, isSlow: boolean): Promise<void> {
        const number = ++requests;
        pending++;
        waiting.set(number, key);
        const result = await turns.run(
          key,
          () => hungUp.has(number),
          async ({ yieldPlace }) => {
            assert.ok(!working.has(key), 'one turn for each key');
            waiting.delete(number);
            noteTurn(key);
            working.add(key);
            assert.ok(working.size - slow.size <= 2, 'two places');
            await s.schedule(Promise.resolve(), `work ${key}`);
            if (isSlow) {
              slow.add(key);
              yieldPlace();
              await s.schedule(Promise.resolve(), `slow ${key}`);
              slow.delete(key);
            }
            working.delete(key);
            passed.delete(key);
            return key;
          },
        );
        pending--;
        waiting.delete(number);
        assert.ok(result === key || hungUp.has(number));
      }

      return {
        act({ key, act }) {
          if (act === 'hang up') hungUp.add(requests);
          else
            request(key, act === 'slow').catch((error) => {
              failed = error;
            });
        },
        pending() {
          if (failed !== undefined) throw failed;
          return pending;
        },
      };
    },
  ));
