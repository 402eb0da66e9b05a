/** Writes batches one after the other, each while the next one is read. */
export async function writeBehind<T>(batches: AsyncIterable<T>, write: (batch: T) => Promise<unknown>): Promise<void> {
  let writing: Promise<unknown> = Promise.resolve();
  for await (const batch of batches) {
    await writing;
    writing = write(batch);
    // The next `await writing` throws a failure. Before that, Node.js must not report it as
    // unhandled.
    writing.catch(() => {});
  }
  await writing;
}
