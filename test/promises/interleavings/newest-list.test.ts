import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createNewestList } from '../../../dist/orders/newest-list.js';
import { textOf } from '../../orders/support/store-suite.js';
import { play } from './support/play.js';

test('in any order of changes, checks and failures, a list shows each own change before it, and each other change a tenth of a second before it', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const acts = fc.record({
    act: fc.constantFrom(
      'ask',
      'ask',
      'ask',
      'ask',
      'other change',
      'other change',
      'other change',
      'own change',
      'fail',
    ),
    /** How much time passes before it. */
    ms: fc.constantFrom(0, 30, 100),
  });
  await play(acts, (s) => {
    let revision = 1;
    let failing = 0;
    let failures = 0;
    let pending = 0;
    let failed: unknown;
    /** The revision that each later list shows at least, from which time on. */
    let own = 1;
    const others: { readonly revision: number; readonly ms: number }[] = [];
    const { list, noteChange } = createNewestList({
      async readRevision() {
        const read = revision;
        await s.schedule(Promise.resolve(), 'revision');
        if (failing > 0) {
          failing--;
          failures++;
          throw new Error('the database is away');
        }
        return read;
      },
      async *readPages() {
        yield `${revision}`;
      },
    });

    async function ask(): Promise<void> {
      const least = Math.max(own, ...others.filter(({ ms }) => ms <= nowMs - 100).map(({ revision }) => revision));
      pending++;
      try {
        const pages = await list();
        const version = Number(String(pages.version).split(' ')[1]);
        assert.ok(version >= least, `version ${version} shows less than ${least}`);
        assert.ok(JSON.parse(await textOf(pages))[0] >= version, 'the pages are older than their version');
      } catch (error) {
        assert.ok(failures > 0 && /away/.test(String(error)), error instanceof Error ? error : String(error));
      }
      pending--;
    }

    return {
      act({ act, ms }) {
        nowMs += ms;
        if (act === 'fail') failing++;
        else if (act === 'ask')
          ask().catch((error) => {
            failed = error;
          });
        else {
          revision++;
          if (act === 'own change') {
            own = revision;
            noteChange();
          } else others.push({ revision, ms: nowMs });
        }
      },
      pending() {
        if (failed !== undefined) throw failed;
        return pending;
      },
    };
  });
});
