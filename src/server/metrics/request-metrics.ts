import type { ErrorCode, ReplyMessage } from '../../http/index.js';
import { createHistogram, type Histogram, printHistogram, printMetric } from './text-format.js';

export interface RequestMetrics {
  count(message: ReplyMessage): void;
  text(): string;
}

interface Outcome {
  readonly status: number;
  readonly code: ErrorCode | undefined;
  count: number;
}

interface Operation {
  readonly name: string;
  /**
   * The number of replies for each error code. Replies without an error code are counted for their
   * status. Each error code belongs to exactly one status.
   */
  readonly outcomes: Map<ErrorCode | number, Outcome>;
  readonly seconds: Histogram;
  failures: number;
}

/**
 * The upper bounds of the histogram, in seconds. The first is 0.1 ms, because a typical request
 * takes less with orders and quotas in memory. The last is the longest time that a request may
 * take.
 */
const SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * How many plans have a time series of their own. All further plans share one. The `store-orders`
 * program has five plans, but a program that embeds the service could have many.
 */
const MOST_PLANS = 20;
const OTHER_PLAN = 'other';

/**
 * Creates counters of replies. No label contains text from a request, so clients cannot create any
 * number of time series.
 */
export function createRequestMetrics(): RequestMetrics {
  const listOrders = createOperation('listOrders');
  const cancelOrder = createOperation('cancelOrder');
  /** Counts requests without an operation, such as those refused before their path was read. */
  const none = createOperation('none');
  const operations = [listOrders, cancelOrder, none];
  const refusals = new Map<string, { exceeded: number; banned: number }>();

  function operationOf({ operation }: ReplyMessage): Operation {
    if (operation === 'listOrders') return listOrders;
    return operation === 'cancelOrder' ? cancelOrder : none;
  }

  function refusalsOf(plan: string) {
    const key = refusals.has(plan) || refusals.size < MOST_PLANS ? plan : OTHER_PLAN;
    const found = refusals.get(key) ?? { exceeded: 0, banned: 0 };
    refusals.set(key, found);
    return found;
  }

  return {
    count(message) {
      const { status, code, error, durationMs, plan } = message;
      const operation = operationOf(message);
      if (error !== undefined) operation.failures++;
      // The list failed after its reply had begun. The request was already counted when the reply
      // began.
      if (error !== undefined && status === 200) return;
      const outcome = operation.outcomes.get(code ?? status);
      if (outcome === undefined) operation.outcomes.set(code ?? status, { status, code, count: 1 });
      else outcome.count++;
      operation.seconds.observe(durationMs / 1_000);
      if (code === 'rate_limit_exceeded') refusalsOf(plan).exceeded++;
      if (code === 'api_key_banned') refusalsOf(plan).banned++;
    },

    text() {
      const outcomes = operations.flatMap(({ name, outcomes }) =>
        Array.from(outcomes.values(), ({ status, code = '', count }) => ({
          labels: { operation: name, status: `${status}`, code },
          value: count,
        })),
      );
      const failures = operations.map(({ name, failures }) => ({ labels: { operation: name }, value: failures }));
      const refused = Array.from(refusals, ([plan, { exceeded, banned }]) => [
        { labels: { plan, code: 'rate_limit_exceeded' }, value: exceeded },
        { labels: { plan, code: 'api_key_banned' }, value: banned },
      ]).flat();
      return [
        printMetric('counter', 'store_orders_requests_total', 'Requests that got a response.', outcomes),
        printHistogram(
          'store_orders_request_duration_seconds',
          'Time from the head of a request to its response, in seconds.',
          operations.map(({ name, seconds }) => [{ operation: name }, seconds] as const),
        ),
        printMetric('counter', 'store_orders_failures_total', 'Requests affected by an internal failure.', failures),
        printMetric('counter', 'store_orders_refusals_total', 'Requests refused by a quota or a ban.', refused),
      ].join('');
    },
  };
}

function createOperation(name: string): Operation {
  return { name, outcomes: new Map(), seconds: createHistogram(SECONDS), failures: 0 };
}
