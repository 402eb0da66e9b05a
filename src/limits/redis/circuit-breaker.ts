import { AsyncResource } from 'node:async_hooks';
import { messageOf } from '../../message-of.js';

export interface CircuitBreakerOptions {
  /** Milliseconds after which a call without a reply counts as failed. */
  readonly deadlineMs: number;
  /** Resolves if the server that stores the key works again. */
  readonly probe: (key: string) => Promise<unknown>;
  /** Called when an outage begins, when it has a new reason, and with `undefined` when it ends. */
  readonly onChange: (outage: Outage | undefined) => void;
}

/** A time in which the calls about some keys, or about all keys, are stopped. */
export interface Outage {
  readonly error: unknown;
}

/** The failures of calls about one key since the last reply. */
interface Failures {
  readonly count: number;
  /** How many calls, about any key, had been sent when the key's last failure was noticed. */
  readonly sentBefore: number;
  /** When the next probe about this key is due. */
  readonly probeAtMs: number;
}

const FAILURES_IN_A_ROW = 3;
const PROBE_EVERY_MS = 1_000;
/** How many reasons of one outage are reported. Some messages differ each time. */
const MOST_REASONS = 10;

/**
 * Limits how long calls wait for a server, and stops calls to a failing one, or to the failing part
 * of a cluster, which only shows in the keys whose calls fail. An outage begins after three failures
 * in a row of one key, or of three keys without a reply about any key in between. During an outage,
 * the first failure stops the calls about its key. Three failing keys without a reply stop the
 * calls about all keys, until there is a reply about any. The outage ends when each key that failed
 * has had a reply.
 *
 * A failure counts only if its call was sent after the previous failure was noticed, because one
 * pause of the server makes all calls in flight late. What is done for all calls runs in the context
 * in which the circuit breaker was created.
 */
export function createCircuitBreaker({ deadlineMs, ...options }: CircuitBreakerOptions) {
  const probe = AsyncResource.bind(options.probe);
  const onChange = AsyncResource.bind(options.onChange);
  let sent = 0;
  /** The keys whose last call has failed. Their number is limited by the keys that were issued. */
  const failing = new Map<string, Failures>();
  /** The keys that have failed since the last reply about any key. */
  const silent = new Set<string>();
  let silentBefore = 0;
  const areAllStopped = () => silent.size >= FAILURES_IN_A_ROW;
  let outage: Outage | undefined;
  const reasons = new Set<string>();
  let probeAtMs = 0;

  function noteFailure(call: number, key: string, error: unknown): void {
    const nextProbeMs = performance.now() + PROBE_EVERY_MS;
    if (failing.size === 0) probeAtMs = nextProbeMs;
    const { count, sentBefore } = failing.get(key) ?? { count: 0, sentBefore: 0 };
    if (call <= sentBefore) return;
    failing.set(key, { count: count + 1, sentBefore: sent, probeAtMs: nextProbeMs });
    if (call > silentBefore && !silent.has(key)) {
      silent.add(key);
      silentBefore = sent;
    }
    if (outage !== undefined || areAllStopped() || count + 1 >= FAILURES_IN_A_ROW) noteReason(error);
  }

  function noteReason(error: unknown): void {
    const reason = messageOf(error);
    if (reasons.has(reason) || reasons.size >= MOST_REASONS) return;
    reasons.add(reason);
    outage = { error };
    onChange(outage);
  }

  function noteReply(key: string): void {
    if (failing.size === 0) return;
    failing.delete(key);
    silent.clear();
    if (failing.size > 0 || outage === undefined) return;
    outage = undefined;
    reasons.clear();
    onChange(undefined);
  }

  /**
   * Settles as the reply to a call about `key`. If the reply does not settle before the deadline,
   * rejects, and the call counts as failed.
   */
  function watch<T>(key: string, reply: Promise<T>): Promise<T> {
    const call = ++sent;
    return new Promise((resolve, reject) => {
      let isOver = false;
      // `setImmediate` lets Node.js first read replies that arrived while this process was busy.
      const timer = setTimeout(() => setImmediate(fail, new Error(`no reply within ${deadlineMs} ms`)), deadlineMs);

      function fail(error: unknown): void {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        reject(error);
        noteFailure(call, key, error);
      }

      reply.then((value) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        resolve(value);
        noteReply(key);
      }, fail);
    });
  }

  /** Probes about a key, and then about the others that have failed, until a probe fails. */
  async function probeAll(first: string): Promise<void> {
    probeAtMs = Number.POSITIVE_INFINITY;
    try {
      for (let key: string | undefined = first; key !== undefined; [key] = failing.keys()) await probeOne(key);
    } catch {
      probeAtMs = performance.now() + PROBE_EVERY_MS;
    }
  }

  function probeOne(key: string): Promise<unknown> {
    const failures = failing.get(key);
    if (failures !== undefined) failing.set(key, { ...failures, probeAtMs: Number.POSITIVE_INFINITY });
    return watch(key, probe(key));
  }

  /**
   * Starts the probe that is due. While the calls about a key are stopped, a request for it starts a
   * probe about it once a second. Also once a second, any request starts a probe about the key that
   * failed first, or, if all calls are stopped, about its own key.
   */
  function probeIfDue(key: string | undefined): void {
    const nowMs = performance.now();
    const isDue = (one: string) => nowMs >= (failing.get(one)?.probeAtMs ?? 0);
    const [oldest] = failing.keys();
    const next = areAllStopped() ? (key ?? oldest) : oldest;
    if (key !== undefined && failing.has(key) && outage !== undefined && !areAllStopped() && isDue(key)) {
      probeOne(key).catch(() => {});
    } else if (next !== undefined && nowMs >= probeAtMs && isDue(next)) {
      void probeAll(next);
    }
  }

  return {
    watch,

    /**
     * Returns `undefined` if the server can be called about `key`. Otherwise returns the outage.
     * Without a key, returns the outage that stops any calls. May start a probe.
     */
    outage(key?: string): Outage | undefined {
      if (failing.size === 0) return undefined;
      probeIfDue(key);
      return key === undefined || areAllStopped() || failing.has(key) ? outage : undefined;
    },
  };
}
