import { test } from 'node:test';
import { type CancelOutcome, createMemoryOrderStore, type Order, type OrderStore } from 'store-orders';
import { createMemoryLimiter, type Decision } from 'store-orders/limiter';
import {
  createManualClock,
  createTestService,
  orderStoreSuite,
  rateLimiterSuite,
  serviceAudits,
  type TestCase,
} from 'store-orders/testing';
import { plainDecision } from '../../../dist/limits/limiter.js';
import { checkSnapshot } from '../../support/snapshot.js';
import { type Flaws, objections } from './support/objections.js';

interface Answer {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly text: string;
}

/** For what all clauses check by the same function, so that one clause with such a response is enough. */
const only =
  (status: number, change: (answer: Answer, index: number) => Answer | undefined) => (answer: Answer, index: number) =>
    answer.status === status ? change(answer, index) : undefined;
const member = (name: string, wrong: unknown) => (answer: Answer) =>
  answer.status < 400 || answer.text === ''
    ? undefined
    : { ...answer, text: JSON.stringify({ ...JSON.parse(answer.text), [name]: wrong }) };
const body = (text: string) => (answer: Answer) => ({ ...answer, text });

const WORDS = ['content-type', 'content-length', 'allow', 'www-authenticate'];
const NUMBERS = ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

const field = (name: string, change: (value: string, index: number) => string) => (answer: Answer, index: number) => {
  const { [name]: value, ...others } = answer.fields;
  return value === undefined ? undefined : { ...answer, fields: { ...others, [name]: change(value, index) } };
};

const ANSWER_FLAWS: Flaws<Answer> = {
  status: (answer) => (answer.status < 400 ? { ...answer, status: 500 } : { ...answer, status: 204, text: '' }),
  'body of a 200': only(200, body('null')),
  'ids in quotes': only(200, (answer) => ({ ...answer, text: answer.text.replaceAll(/"id":(-?\d+)/g, '"id":"$1"') })),
  'body of a 412': only(412, body('null')),
  'status in a 412': only(412, member('status', 418)),
  'no code in a 412': only(412, member('code', '')),
  'no message in a 412': only(412, member('message', '')),
  code: member('code', 'wrong'),
  ...Object.fromEntries(WORDS.map((name) => [name, field(name, () => 'wrong')])),
  // The numbers differ, because some clauses only compare those of several responses.
  ...Object.fromEntries(
    NUMBERS.map((name) => [name, field(name, (value, index) => `${Number(value) + 1 + (index % 2)}`)]),
  ),
  ...Object.fromEntries(
    NUMBERS.map((name) => {
      const empty = field(name, () => '');
      return [`${name} of a 404`, only(404, empty)];
    }),
  ),
  'no x-ratelimit-remaining in a 401': only(401, ({ fields: { 'x-ratelimit-remaining': _, ...fields }, ...answer }) => {
    return { ...answer, fields };
  }),
};

type State = Decision['inForce'];

const inForce = (change: (state: State) => Partial<State>) => (decision: Decision) => {
  const changed = { ...decision.inForce, ...change(decision.inForce) };
  const windows = decision.windows.map((state) => (state === decision.inForce ? changed : state));
  return { ...decision, windows, inForce: changed };
};

const DECISION_FLAWS: Flaws<Decision> = {
  plan: (decision) => ({ ...decision, plan: { ...decision.plan } }),
  cost: (decision) => ({ ...decision, cost: decision.cost + 1 }),
  allowed: (decision) => ({ ...decision, allowed: !decision.allowed }),
  result: (decision) => ({
    ...decision,
    result: decision.result === 'over_quota' ? 'within_quota' : 'over_quota',
  }),
  nowMs: (decision) => ({ ...decision, nowMs: decision.nowMs + 0.5 }),
  utcOffsetMs: (decision) => ({ ...decision, utcOffsetMs: decision.utcOffsetMs + 0.5 }),
  retryAfterMs: (decision) => ({ ...decision, retryAfterMs: decision.retryAfterMs + 1 }),
  'retryAfterMs 0.5': (decision) => ({ ...decision, retryAfterMs: 0.5 }),
  'inForce not in windows': (decision) => ({ ...decision, inForce: { ...decision.inForce } }),
  'inForce.remaining': inForce(({ remaining }) => ({ remaining: remaining + 1 })),
  'inForce.resetAtMs': inForce(({ resetAtMs }) => ({ resetAtMs: resetAtMs + 1 })),
  'inForce.refillAtMs': inForce(({ refillAtMs }) => ({ refillAtMs: refillAtMs + 1 })),
  'inForce.policy.name': inForce(({ policy }) => ({ policy: { ...policy, name: 'wrong' } })),
  'remaining of the last window': ({ windows, ...decision }) => ({
    ...decision,
    windows: windows.map((state, n) =>
      n === windows.length - 1 ? { ...state, remaining: state.remaining + 1 } : state,
    ),
  }),
  'no windows': (decision) => ({ ...decision, windows: [] }),
};

/** What `cancel` returns, or what `list` returns. */
interface Returned {
  readonly outcome: CancelOutcome;
  readonly orders: readonly Order[];
}

const outcome = (wrong: CancelOutcome) => (returned: Returned) => ({ ...returned, outcome: wrong });
const list =
  (change: (orders: readonly Order[]) => readonly Order[]) =>
  ({ outcome, orders }: Returned) => ({ outcome, orders: change(orders) });

const STORE_FLAWS: Flaws<Returned> = {
  'outcome cancelled': outcome('cancelled'),
  'outcome not_found': outcome('not_found'),
  'list without its last order': list((orders) => orders.slice(0, -1)),
  'list with another last order': list((orders) => [...orders.slice(0, -1), { ...orders.at(-1), id: 77n }]),
};

/** Returns the name of each case, and what the case says about values that are wrong. */
async function told<T>(flaws: Flaws<T>, casesWith: (pass: (value: T) => T) => readonly TestCase[]): Promise<string> {
  const parts: string[] = [];
  for (const [index, { name }] of casesWith((value) => value).entries()) {
    const lines = await objections(flaws, async (pass) => casesWith(pass)[index]?.run());
    parts.push([name, ...lines].map((line) => `${line}\n`).join('  '));
  }
  return parts.join('\n');
}

test('audits.txt has the name of each audit, what it needs, and what it says of a response that is wrong in one respect', async () => {
  const auditsWith = (pass: (answer: Answer) => Answer) => {
    const { url, apiKey, ...service } = createTestService();
    async function fetch(request: Request): Promise<Response> {
      const response = await service.fetch(request);
      const { status, headers } = response;
      const answer = pass({ status, fields: Object.fromEntries(headers), text: await response.text() });
      return new Response(answer.status === 204 ? null : answer.text, {
        status: answer.status,
        headers: answer.fields,
      });
    }
    const bare = serviceAudits({ url, apiKey });
    return serviceAudits({ ...service, url, apiKey, fetch }).map(({ name, run }, index) => {
      return { name: [name, bare[index]?.skip].join(', ').replace(/, $/, ''), run };
    });
  };
  checkSnapshot('audits.txt', await told(ANSWER_FLAWS, auditsWith));
});

test('rate-limiter-suite.txt has the name of each case, and what it says of a decision that is wrong in one respect', async () => {
  const casesWith = (pass: (decision: Decision) => Decision) =>
    rateLimiterSuite(() => {
      const clock = createManualClock();
      const limiter = createMemoryLimiter({ clock });
      const take: typeof limiter.take = (...request) => pass(plainDecision(limiter.take(...request)));
      return { limiter: { take }, advance: clock.advance };
    });
  checkSnapshot('rate-limiter-suite.txt', await told(DECISION_FLAWS, casesWith));
});

test('order-store-suite.txt has the name of each case, and what it says of a list or an outcome that is wrong', async () => {
  const casesWith = (pass: (returned: Returned) => Returned) =>
    orderStoreSuite((records) => {
      const { list, cancel, ship } = createMemoryOrderStore(records);
      const store: OrderStore = {
        list: () => pass({ outcome: 'not_found', orders: list() }).orders,
        cancel: (id) => pass({ outcome: cancel(id), orders: [] }).outcome,
      };
      return { store, ship };
    });
  checkSnapshot('order-store-suite.txt', await told(STORE_FLAWS, casesWith));
});
