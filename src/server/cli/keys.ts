import { describePlan, type KeyPlan, type ParsedPlan, parseKeyPlan } from '../keys/key-plan.js';
import type { KeyChange, KeyRecord, KeyRing } from '../keys/key-ring.js';
import {
  type Command,
  DATA_OPTIONS,
  done,
  failed,
  type Invocation,
  misused,
  type Outcome,
  withStorage,
} from './command.js';

const PLAN_OPTIONS = {
  plan: { value: 'PLAN', about: 'free, pro, business, or enterprise with numbers of its own' },
  'per-minute': { value: 'N', about: 'requests per minute, for enterprise' },
  'per-day': { value: 'N', about: 'requests per day, for enterprise' },
};

export const keyCommands: readonly Command[] = [
  {
    name: 'keys create',
    summary: 'Issues an API key and shows it once. Only its digest is stored.',
    operands: [],
    options: { ...PLAN_OPTIONS, name: { value: 'NAME', about: 'whose key it is, for keys list' }, ...DATA_OPTIONS },
    run: createKey,
  },
  {
    name: 'keys list',
    summary: 'Lists the keys, revoked ones too.',
    operands: [],
    options: DATA_OPTIONS,
    run: (invocation) => withStorage(invocation, ({ keys }) => listKeys(keys)),
  },
  {
    name: 'keys set-plan',
    summary: 'Changes the plan of a key, as of its next request.',
    operands: ['KEY_ID'],
    options: { ...PLAN_OPTIONS, ...DATA_OPTIONS },
    run: setPlan,
  },
  {
    name: 'keys revoke',
    summary: 'Ends a key for good. A running server refuses it within a second.',
    operands: ['KEY_ID'],
    options: DATA_OPTIONS,
    run: revokeKey,
  },
];

function createKey(invocation: Invocation): Outcome | Promise<Outcome> {
  const parsed = readPlan(invocation);
  if (!parsed.ok) return misused(parsed.message);
  const name = invocation.flags.get('name');
  return withStorage(
    invocation,
    async ({ keys }) => {
      const issued = await keys.create(parsed.plan, typeof name === 'string' ? name : undefined);
      const { key, id, plan } = issued;
      const text = [
        `key   ${key}`,
        `id    ${id}`,
        `plan  ${describePlan(plan)}`,
        '',
        'Keep the key now: it is not stored and will not be shown again.',
      ];
      return done(text.join('\n'), { key, ...listed(issued) });
    },
    { create: true },
  );
}

async function listKeys(ring: KeyRing): Promise<Outcome> {
  const keys = await ring.list();
  const rows = keys.map(({ id, plan, createdAt, revokedAt, name }) =>
    [
      id,
      createdAt,
      describePlan(plan),
      name === undefined ? '' : JSON.stringify(name),
      revokedAt && `revoked ${revokedAt}`,
    ]
      .filter(Boolean)
      .join('  '),
  );
  return done(rows.length === 0 ? 'no keys; keys create issues one' : rows.join('\n'), keys.map(listed));
}

function setPlan(invocation: Invocation): Outcome | Promise<Outcome> {
  const parsed = readPlan(invocation);
  if (!parsed.ok) return misused(parsed.message);
  const { plan } = parsed;
  return changeKey(invocation, (keys, id) => keys.setPlan(id, plan), `has the plan ${describePlan(plan)}`);
}

function revokeKey(invocation: Invocation): Promise<Outcome> {
  return changeKey(invocation, (keys, id) => keys.revoke(id), 'is revoked');
}

/** Changes the key that the operand names, and answers with what it is then. */
function changeKey(
  invocation: Invocation,
  change: (keys: KeyRing, id: string) => KeyChange | Promise<KeyChange>,
  result: string,
): Promise<Outcome> {
  const [id = ''] = invocation.operands;
  return withStorage(invocation, async ({ keys }) => {
    const outcome = await change(keys, id);
    if (outcome === 'not_found') return failed(noSuchKey(id));
    if (outcome === 'already_revoked') return failed(`${id} is revoked already`);
    const record = await keys.get(id);
    return done(`${id} ${result}`, record === undefined ? null : listed(record));
  });
}

/** An operand that is no key id may be an API key, which is not repeated anywhere. */
export function noSuchKey(id: string): string {
  return /^key_[0-9A-Za-z]{1,20}$/.test(id)
    ? `there is no key ${id}; keys list shows all`
    : 'KEY_ID: expected the id of a key, such as key_0123456789; keys list shows all';
}

function readPlan({ flags }: Invocation): ParsedPlan {
  const name = flags.get('plan');
  const perMinute = readNumber(flags.get('per-minute'));
  const perDay = readNumber(flags.get('per-day'));
  if (typeof name !== 'string') return { ok: false, message: '--plan: expected free, pro, business or enterprise' };
  if (Number.isNaN(perMinute)) return { ok: false, message: `--per-minute: ${EXPECTED_NUMBER}` };
  if (Number.isNaN(perDay)) return { ok: false, message: `--per-day: ${EXPECTED_NUMBER}` };
  const parsed = parseKeyPlan({ name, perMinute, perDay });
  return parsed.ok ? parsed : { ok: false, message: `--plan: ${parsed.message}` };
}

const EXPECTED_NUMBER = 'expected a whole number from 1 to 1000000000';

/** NaN for what is no number of requests. */
function readNumber(value: string | true | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = /^[1-9][0-9]{0,9}$/.test(String(value)) ? Number(value) : Number.NaN;
  return number <= 1_000_000_000 ? number : Number.NaN;
}

interface ListedKey extends Omit<KeyRecord, 'plan'>, Omit<KeyPlan, 'name'> {
  readonly plan: KeyPlan['name'];
}

/** A key as scripts see it: flat, the plan by its name. */
function listed({ id, name, plan, createdAt, revokedAt }: KeyRecord): ListedKey {
  const { name: planName, ...numbers } = plan;
  return {
    id,
    ...(name !== undefined && { name }),
    plan: planName,
    ...numbers,
    createdAt,
    ...(revokedAt !== undefined && { revokedAt }),
  };
}
