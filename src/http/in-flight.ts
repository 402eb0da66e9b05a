/**
 * Counts unfinished work, such as replies and streams, so that closing the service can wait for it.
 */
export interface InFlight {
  readonly isClosed: boolean;
  /**
   * Makes `close` wait until this promise has settled. Code that awaits this promise, such as the
   * code that writes the reply, runs before code that awaits `close`.
   */
  hold(work: Promise<unknown>): void;
  /** Marks the service as closed. Resolves when all work that was passed to `hold` has ended. */
  close(): Promise<void>;
}

export function createInFlight(): InFlight {
  let isClosed = false;
  let pending = 0;
  let onIdle = () => {};
  const idle = new Promise<void>((resolve) => {
    onIdle = () => {
      if (isClosed && pending === 0) resolve();
    };
  });
  return {
    get isClosed() {
      return isClosed;
    },
    hold(work) {
      pending++;
      work.then(() => {
        pending--;
        onIdle();
      });
    },
    close() {
      isClosed = true;
      onIdle();
      return idle;
    },
  };
}
