import { type LoadRequest, load, loadWarm, refill } from '../load/load.js';
import type { Child } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';

export interface Measured {
  /** Responses per second. */
  readonly rates: number[];
  /** The server's processor time per response, in microseconds. */
  readonly usedUs: number[];
  /** Responses with a status other than the expected one. */
  readonly strays: number[];
  /**
   * Comparisons with the bare server, which is measured before and after each group of servers.
   * `ratios`: this server's responses per second, divided by the bare server's. `cpuRatios`: the
   * bare server's processor time per response, divided by this server's. A higher value is better
   * in both.
   */
  readonly ratios: number[];
  readonly cpuRatios: number[];
}

export interface Load {
  readonly request: LoadRequest;
  readonly connections: number;
  readonly count: number;
}

const WARM_UP_SECONDS = 3;
/** How many servers are measured between two measurements of the bare server. */
const GROUP = 5;

/**
 * Measures servers beside a bare server, in turns, for `count` rounds. Resolves to the figures of
 * the bare server, followed by those of the others.
 */
export async function measureBesideBare(
  bare: Child,
  others: readonly Child[],
  { request, connections, count }: Load,
): Promise<readonly Measured[]> {
  const children = [bare, ...others];
  await refill(children, request);
  if (!isQuick) {
    await Promise.all(children.map((server) => load({ server, request, connections, seconds: WARM_UP_SECONDS })));
  }
  const floor = { ...empty(), server: bare };
  const subjects = others.map((server) => ({ ...empty(), server }));
  async function slice({ server, rates, usedUs, strays }: Measured & { readonly server: Child }) {
    const loaded = await loadWarm({ server, request, connections });
    rates.push(loaded.perSecond);
    usedUs.push(loaded.usedUs);
    strays.push(loaded.stray);
    return loaded;
  }

  for (let round = 0; round < rounds(count); round++) {
    await refill(children, request);
    let before = await slice(floor);
    for (let from = 0; from < subjects.length; from += GROUP) {
      const slices = [];
      for (const subject of subjects.slice(from, from + GROUP)) slices.push({ subject, ...(await slice(subject)) });
      const after = await slice(floor);
      for (const { subject, perSecond, usedUs } of slices) {
        subject.ratios.push(perSecond / ((before.perSecond + after.perSecond) / 2));
        subject.cpuRatios.push((before.usedUs + after.usedUs) / 2 / usedUs);
      }
      before = after;
    }
    floor.ratios.push(1);
    floor.cpuRatios.push(1);
  }
  return [floor, ...subjects];
}

function empty(): Measured {
  return { rates: [], usedUs: [], strays: [], ratios: [], cpuRatios: [] };
}
