import { type CommandResult, done, failed, Misuse } from '../command-result.js';
import { describePlan, FIXED_PLANS, type KeyPlan, parseKeyPlan } from '../keys/key-plan.js';
import type { KeyRecord } from '../keys/key-record.js';
import type { IssuedKey, KeyChange, KeyRing } from '../keys/key-ring.js';
import { type Command, commandLine, countOf, durationOf, type Invocation } from './command.js';
import { createTable } from './table.js';
import { STORAGE_OPTIONS, withStorage } from './with-storage.js';

const PLAN_OPTIONS = {
  plan: {
    value: 'PLAN',
    about: `${FIXED_PLANS.join(', ')}, or enterprise with --per-minute, --per-day or both`,
    isRequired: true,
  },
  'per-minute': { value: 'N', about: 'requests per minute, only for enterprise' },
  'per-day': { value: 'N', about: 'requests per day, only for enterprise' },
} as const;

/** The longest time after which a key can expire. */
const LONGEST_DAYS = 3_650;

export const keyCommands: readonly Command[] = [
  {
    name: 'keys create',
    summary: 'Creates an API key and shows it once. Only its digest is stored.',
    options: {
      ...PLAN_OPTIONS,
      name: { value: 'NAME', about: 'a name for the key, such as its owner' },
      expires: { value: 'TIME', about: 'when the key expires, such as 12h or 90d from now [default: never]' },
      ...STORAGE_OPTIONS,
    },
    examples: [
      'keys create --plan pro --name shop',
      'keys create --plan enterprise --per-minute 5000',
      'keys create --plan free --expires 90d',
    ],
    run: createKey,
  },
  {
    name: 'keys list',
    summary: 'Lists all keys with their plans, including revoked keys.',
    options: STORAGE_OPTIONS,
    examples: ['keys list --json'],
    run: listKeys,
  },
  {
    name: 'keys set-plan',
    summary: 'Changes the plan of a key. A running server applies it within a second.',
    operand: 'KEY_ID',
    options: { ...PLAN_OPTIONS, ...STORAGE_OPTIONS },
    examples: ['keys set-plan key_0123456789 --plan business'],
    run: setPlan,
  },
  {
    name: 'keys rotate',
    summary:
      'Replaces a key and shows the new one once. The id, the plan and the used quotas stay the same. A running server refuses the old key within a second.',
    operand: 'KEY_ID',
    options: STORAGE_OPTIONS,
    examples: ['keys rotate key_0123456789'],
    run: rotateKey,
  },
  {
    name: 'keys revoke',
    summary: 'Revokes a key for good. A running server refuses it within a second.',
    operand: 'KEY_ID',
    options: STORAGE_OPTIONS,
    examples: ['keys revoke key_0123456789'],
    run: (invocation) => changeKey(invocation, (keys, id) => keys.revoke(id), 'is revoked'),
  },
];

function createKey(invocation: Invocation): Promise<CommandResult> {
  const plan = readPlan(invocation);
  const name = invocation.flags.get('name');
  const expiresMs = durationOf(invocation, 'expires', LONGEST_DAYS);
  const options = {
    ...(typeof name === 'string' && { name }),
    ...(expiresMs !== undefined && { expiresAt: new Date(Date.now() + expiresMs).toISOString() }),
  };
  return withStorage(invocation, async ({ keys }) => showOnce(await keys.create(plan, options)), { create: true });
}

function rotateKey(invocation: Invocation): Promise<CommandResult> {
  const { operand: id } = invocation;
  return withStorage(invocation, async ({ keys }) => {
    const { expiresAt } = (await keys.get(id)) ?? {};
    // The new key would have the same expiry.
    if (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now()) {
      return failed(`${id} has expired; create a new key with "${commandLine(invocation, 'keys create')}"`);
    }
    const rotated = await keys.rotate(id);
    return typeof rotated === 'string' ? unchanged(invocation, rotated) : showOnce(rotated);
  });
}

function showOnce(issued: IssuedKey): CommandResult {
  const { key, id, plan, expiresAt } = issued;
  const rows = [`key      ${key}`, `id       ${id}`, `plan     ${describePlan(plan)}`];
  if (expiresAt !== undefined) rows.push(`expires  ${expiresAt}`);
  const advice = 'Save the key now. It is not stored and cannot be shown again.';
  const ifUnseen = `nobody has seen the key of ${id}; run "keys rotate ${id}" or "keys revoke ${id}"`;
  return done([...rows, '', advice].join('\n'), { key, ...jsonFieldsOf(issued) }, ifUnseen);
}

function listKeys(invocation: Invocation): Promise<CommandResult> {
  return withStorage(invocation, async ({ keys: ring }) => {
    const keys = await ring.list();
    if (keys.length === 0) {
      return done(`no keys; create one: ${commandLine(invocation, 'keys create --plan free')}`, []);
    }
    const table = createTable(['KEY', 'CREATED', 'PLAN', 'EXPIRES', 'REVOKED', 'NAME']);
    const rows = keys.map(({ id, plan, createdAt, expiresAt = '', revokedAt = '', name }) => {
      return [id, createdAt, describePlan(plan), expiresAt, revokedAt, name === undefined ? '' : JSON.stringify(name)];
    });
    return done(table(rows).join('\n'), keys.map(jsonFieldsOf));
  });
}

function setPlan(invocation: Invocation): Promise<CommandResult> {
  const plan = readPlan(invocation);
  return changeKey(invocation, (keys, id) => keys.setPlan(id, plan), `now has the plan ${describePlan(plan)}`);
}

/** Changes the key that the operand names, and reports its new state. */
function changeKey(
  invocation: Invocation,
  change: (keys: KeyRing, id: string) => Promise<KeyChange>,
  result: string,
): Promise<CommandResult> {
  const { operand: id } = invocation;
  return withStorage(invocation, async ({ keys }) => {
    const outcome = await change(keys, id);
    if (outcome !== 'changed') return unchanged(invocation, outcome);
    const record = await keys.get(id);
    return done(`${id} ${result}`, record === undefined ? null : jsonFieldsOf(record));
  });
}

function unchanged(invocation: Invocation, outcome: Exclude<KeyChange, 'changed'>): CommandResult {
  return failed(outcome === 'not_found' ? unknownKeyMessage(invocation) : `${invocation.operand} is already revoked`);
}

/**
 * Returns the message for an unknown key. Repeats the operand only if it looks like an id, because
 * the user may have typed an API key.
 */
export function unknownKeyMessage(invocation: Invocation): string {
  const { operand: id } = invocation;
  const advice = `run "${commandLine(invocation, 'keys list')}"`;
  return /^key_[0-9A-Za-z]+$/.test(id)
    ? `the key ${id} does not exist; ${advice}`
    : `KEY_ID: expected the id of a key, such as key_0123456789; ${advice}`;
}

function readPlan(invocation: Invocation): KeyPlan {
  const name = String(invocation.flags.get('plan'));
  const quotas = { perMinute: countOf(invocation, 'per-minute'), perDay: countOf(invocation, 'per-day') };
  const plan = parseKeyPlan({ name, ...quotas });
  if ('mistake' in plan) throw new Misuse(`--plan: ${plan.mistake}`);
  return plan;
}

/** Returns a key as `--json` prints it, with the name and the quotas of its plan as fields. */
function jsonFieldsOf({ id, name, plan: { name: plan, ...quotas }, createdAt, ...otherTimes }: KeyRecord): object {
  return { id, name, plan, ...quotas, createdAt, ...otherTimes };
}
