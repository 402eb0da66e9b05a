import { type Context, contextOf, currentContext } from '../context.js';

/**
 * After this time, the next group is sent even if one is still in flight, so that a slow group does
 * not delay all later calls.
 */
const SLOW_MS = 25;

/**
 * Creates a function that groups its calls: those of one pass of the event loop, and those made
 * while another group is in flight. `send` receives at most `most` calls. All of them were made
 * before `send` starts, so no call receives older data than it would have read itself. A call that
 * is sent alone runs in its own context, and several in that in which the grouping was created.
 */
export function createGrouping<Call extends { readonly context: Context }>(
  most: number,
  send: (calls: readonly Call[]) => Promise<unknown>,
): (call: Call) => void {
  const shared = currentContext();
  let waiting: Call[] = [];
  let isBusy = false;

  function sendNext(): void {
    const calls = waiting.slice(0, most);
    waiting = waiting.slice(most);
    const slow = setTimeout(release, SLOW_MS);
    let isReleased = false;
    function release(): void {
      if (isReleased) return;
      isReleased = true;
      clearTimeout(slow);
      isBusy = waiting.length > 0;
      if (isBusy) setImmediate(sendNext);
    }
    contextOf(calls, shared).runInAsyncScope(send, undefined, calls).then(release, release);
  }

  return (call) => {
    waiting.push(call);
    if (!isBusy) setImmediate(sendNext);
    isBusy = true;
  };
}
