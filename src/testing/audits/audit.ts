import { PLANS, type Plan } from '../../limits/index.js';
import type { OrderInput } from '../../orders/index.js';
import type { TestCase } from '../suites/test-case.js';
import type { ReadResponse } from './response.js';

/**
 * The implementation to audit: a server at an address, or a function like `fetch`. A `TestService`
 * can be a target.
 */
export interface AuditTarget {
  /** The base address with its version segment, for example `https://orders.test/v1`. */
  readonly url: string;
  /** Default: the global `fetch`. */
  readonly fetch?: ((request: Request) => Response | Promise<Response>) | undefined;
  /** A valid API key. */
  readonly apiKey: string;
  /**
   * Issues a new key with this plan. Without `issueKey`, audits that use up a quota are skipped,
   * and all others use `apiKey`.
   */
  readonly issueKey?: ((plan: Plan) => string | Promise<string>) | undefined;
  /**
   * Stores orders for the audits, and replaces stored orders with the same ids. Any
   * `OwnedOrderStore` will do.
   */
  readonly store?: { put(orders: readonly OrderInput[], options: { readonly replace: true }): unknown } | undefined;
  /** Advances the server's time. A `ManualClock` will do. */
  readonly clock?: { advance(ms: number): unknown } | undefined;
}

/**
 * How binding a clause is (RFC 2119). MUST: required by the specification, or by an RFC that it
 * builds on. SHOULD: decided by this package where the specification is silent. MAY: optional, such
 * as bans and this package's names of error codes.
 */
type AuditLevel = 'MUST' | 'SHOULD' | 'MAY';

/** A check of one clause of the specification. */
export interface Audit extends TestCase {
  /** A stable id, such as `5-missing`: the number of the specification's part, and a word. */
  readonly id: string;
  readonly level: AuditLevel;
  /** Why the audit cannot run: the options that the target lacks, such as `needs store`. */
  readonly skip?: string;
}

/** The functions through which an audit uses the target. */
export interface Subject {
  /** Sends a request to a path below the base address. `fields` are pairs of name and value. */
  ask(method: string, path: string, ...fields: readonly (readonly [string, string])[]): Promise<ReadResponse>;
  /** Asks with a valid key: a new one each time if possible, so that no quota is used up. */
  askWithKey: Subject['ask'];
  put(...orders: readonly OrderInput[]): Promise<void>;
  issueKey(plan: Plan): Promise<string>;
  advance(ms: number): Promise<void>;
}

export interface Clause {
  readonly id: string;
  readonly level: AuditLevel;
  readonly requirement: string;
  readonly needs?: readonly ('issueKey' | 'store' | 'clock')[];
  check(subject: Subject): Promise<void>;
}

export const ORDERS_PATH = '/store/orders';

export function orderPath(id: bigint | string | number): string {
  return `${ORDERS_PATH}/${id}`;
}

export function bearer(apiKey: string): readonly [string, string] {
  return ['Authorization', `Bearer ${apiKey}`];
}

export function toAudit({ id, level, requirement, needs = [], check }: Clause, target: AuditTarget): Audit {
  const missing = needs.filter((part) => target[part] === undefined);
  return {
    id,
    level,
    name: `${id}: ${level} ${requirement}`,
    run: () => check(subjectOf(target)),
    ...(missing.length > 0 && { skip: `needs ${missing.join(' and ')}` }),
  };
}

function subjectOf(target: AuditTarget): Subject {
  const { fetch = globalThis.fetch } = target;
  const subject: Subject = {
    async ask(method, path, ...fields) {
      const headers = new Headers();
      for (const [name, value] of fields) headers.append(name, value);
      const response = await fetch(new Request(target.url + path, { method, headers, redirect: 'manual' }));
      return { status: response.status, headers: response.headers, text: await response.text() };
    },
    askWithKey: async (method, path, ...fields) =>
      subject.ask(method, path, bearer(await subject.issueKey(PLANS.business)), ...fields),
    async put(...orders) {
      await target.store?.put(orders, { replace: true });
    },
    issueKey: async (plan) => (await target.issueKey?.(plan)) ?? target.apiKey,
    async advance(ms) {
      await target.clock?.advance(ms);
    },
  };
  return subject;
}
