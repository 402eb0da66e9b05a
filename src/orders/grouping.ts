/**
 * If a group of calls takes longer than this, the next group is sent without waiting for its end.
 */
const SLOW_MS = 25;

/**
 * Groups calls that are made in the same pass of the event loop, or while another group is in
 * flight. `send` receives a group of at most `most` calls. All of them were made before `send`
 * runs, so what `send` reads is up to date for each of them.
 */
export function createGrouping<Call>(
  most: number,
  send: (calls: readonly Call[]) => Promise<unknown>,
): (call: Call) => void {
  let waiting: Call[] = [];
  let isHeld = false;

  function sendNext(): void {
    const calls = waiting.slice(0, most);
    waiting = waiting.slice(most);
    const slow = setTimeout(release, SLOW_MS);
    let isReleased = false;
    function release(): void {
      if (isReleased) return;
      isReleased = true;
      clearTimeout(slow);
      isHeld = waiting.length > 0;
      if (isHeld) setImmediate(sendNext);
    }
    send(calls).then(release, release);
  }

  return (call) => {
    waiting.push(call);
    if (!isHeld) setImmediate(sendNext);
    isHeld = true;
  };
}
