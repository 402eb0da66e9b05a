import { type CommandResult, done } from '../../command-result.js';
import type { KeyRecord } from '../../keys/key-record.js';
import type { QuotaAdmin } from '../../quotas/admin.js';
import { countOf, type Invocation } from '../command.js';
import { createTable } from '../table.js';
import { readQuota, type ShownWindow } from './quota-view.js';
import { withQuotas } from './with-quotas.js';

type Row = Awaited<ReturnType<typeof readRow>>;

/** How many keys are listed without `--limit`. */
export const DEFAULT_LIMIT = 20;
/** How many keys are read at the same time. */
const AT_ONCE = 100;

/**
 * Lists at most `--limit` keys: first the banned keys, then the keys that have used part of a quota,
 * beginning with those nearest to their limit.
 */
export function listQuotas(invocation: Invocation): Promise<CommandResult> {
  return listRows(invocation, ({ leftRatio }) => leftRatio < 1, 'no key has used any of its quotas');
}

/** Lists at most `--limit` banned keys. */
export function listBans(invocation: Invocation): Promise<CommandResult> {
  return listRows(invocation, ({ quota }) => quota.bannedUntil !== null, 'no key is banned');
}

function listRows(invocation: Invocation, isListed: (row: Row) => boolean, none: string): Promise<CommandResult> {
  const limit = countOf(invocation, 'limit') ?? DEFAULT_LIMIT;
  return withQuotas(invocation, async (admin, ring) => {
    const keys = (await ring.list()).filter(({ revokedAt }) => revokedAt === undefined);
    const rows: Row[] = [];
    for (let i = 0; i < keys.length; i += AT_ONCE) {
      rows.push(...(await Promise.all(keys.slice(i, i + AT_ONCE).map((key) => readRow(admin, key)))));
    }
    const listed = rows.filter(isListed).sort((a, b) => a.leftRatio - b.leftRatio);
    const shown = listed.slice(0, limit);
    if (shown.length === 0) return done(none, []);
    const quotas = shown.map(({ quota }) => quota);
    return done(tableOf(shown).join('\n'), quotas);
  });
}

/**
 * Reads the quotas of a key. The scarcest window is the one with the smallest part of its quota
 * left. `leftRatio` is that part, or -1 if the key is banned, so that banned keys come first.
 */
async function readRow(admin: QuotaAdmin, key: KeyRecord) {
  const quota = await readQuota(admin, key);
  const ratio = ({ remaining, quota }: ShownWindow) => remaining / quota;
  // Every plan has at least one window.
  const scarcest = quota.windows.reduce((a, b) => (ratio(b) < ratio(a) ? b : a));
  const leftRatio = quota.bannedUntil === null ? ratio(scarcest) : -1;
  return { quota, name: key.name === undefined ? '' : JSON.stringify(key.name), scarcest, leftRatio };
}

function tableOf(rows: readonly Row[]): string[] {
  const table = createTable(['KEY', 'PLAN', 'LEFT', 'FULL AGAIN', 'BANNED UNTIL', 'NAME'], ['LEFT']);
  const cells = rows.map(({ quota: { id, plan, bannedUntil }, name, scarcest }) => {
    const left = `${scarcest.remaining} of ${scarcest.quota} per ${scarcest.name}`;
    return [id, plan, left, scarcest.resetAt ?? '', bannedUntil ?? '', name];
  });
  return table(cells);
}
