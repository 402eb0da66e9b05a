import { type CommandResult, done, misused } from '../../command-result.js';
import type { KeyRing } from '../../keys/key-ring.js';
import type { QuotaAdmin } from '../../quotas/admin.js';
import type { Invocation } from '../command.js';
import { type Column, createTable } from '../terminal.js';
import { readQuota, type ShownQuota, scarcestOf } from './quota-view.js';
import { withQuotas } from './with-quotas.js';

export function listQuotas(invocation: Invocation): CommandResult | Promise<CommandResult> {
  const { flags } = invocation;
  const limit = flags.get('limit');
  if (!/^[1-9][0-9]{0,8}$/.test(`${limit}`)) {
    return misused(`--limit: expected a whole number from 1 up, not ${JSON.stringify(limit)}`);
  }
  return withQuotas(invocation, (admin, keys) => list(admin, keys, Number(limit)));
}

/** The quotas of a key, and the key's name. */
interface Row extends ShownQuota {
  readonly keyName: string;
}

async function list(admin: QuotaAdmin, keys: KeyRing, limit: number): Promise<CommandResult> {
  const rows = await nearestToLimit(admin, keys, limit);
  if (rows.length === 0) return done('no key has used any of its quotas', []);
  return done(
    tableOf(rows).join('\n'),
    rows.map(({ keyName, ...quota }) => quota),
  );
}

/** How many keys are read at the same time. */
const AT_ONCE = 100;

/**
 * Returns at most `limit` keys: first the banned keys, then the keys that have used part of a
 * quota, beginning with those nearest to their limit.
 */
async function nearestToLimit(admin: QuotaAdmin, ring: KeyRing, limit: number): Promise<readonly Row[]> {
  const keys = (await ring.list()).filter(({ revokedAt }) => revokedAt === undefined);
  const rows: Row[] = [];
  for (let i = 0; i < keys.length; i += AT_ONCE) {
    const read = keys.slice(i, i + AT_ONCE).map(async (key) => {
      const keyName = key.name === undefined ? '' : JSON.stringify(key.name);
      return { ...(await readQuota(admin, key)), keyName };
    });
    rows.push(...(await Promise.all(read)));
  }
  const used = rows.filter((row) => smallestFractionLeft(row) < 1);
  return used.sort((a, b) => smallestFractionLeft(a) - smallestFractionLeft(b)).slice(0, limit);
}

/** Returns the smallest fraction that is left of any quota of the key, or -1 for a banned key. */
function smallestFractionLeft(quota: ShownQuota): number {
  const { remaining, quota: most } = scarcestOf(quota);
  return quota.bannedUntil === null ? remaining / most : -1;
}

interface QuotaColumn extends Column {
  cell(row: Row): string;
}

function tableOf(rows: readonly Row[]): string[] {
  const columns: readonly QuotaColumn[] = [
    { title: 'KEY', cell: ({ id }) => id },
    { title: 'PLAN', cell: ({ plan }) => plan },
    { title: 'LEFT', isNumber: true, cell: left, style: (cell) => (cell.startsWith('0 ') ? 'red' : undefined) },
    { title: 'FULL AGAIN', cell: (row) => scarcestOf(row).resetAt ?? '' },
    { title: 'BANNED UNTIL', cell: ({ bannedUntil }) => bannedUntil ?? '', style: () => 'red' },
    { title: 'NAME', cell: ({ keyName }) => keyName },
  ];
  return createTable(process.stdout, columns)(rows.map((row) => columns.map(({ cell }) => cell(row))));
}

function left(row: Row): string {
  const { name, quota, remaining } = scarcestOf(row);
  return `${remaining} of ${quota} per ${name}`;
}
