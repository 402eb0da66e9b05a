/** Counts work in flight, so that closing can wait for it. */
export interface InFlight {
  readonly isClosed: boolean;
  /**
   * Makes `close` wait for this work. Code that awaits the same promise runs before `close`
   * resolves, so that the reply is written.
   */
  hold(work: Promise<unknown>): void;
  /** Resolves when no work is held. */
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
