/** Writes batches one after the other, each while the next one is read. */
export async function writeBehind<T>(batches: AsyncIterable<T>, write: (batch: T) => Promise<unknown>): Promise<void> {
  let writing: Promise<unknown> = Promise.resolve();
  for await (const batch of batches) {
    await writing;
    writing = write(batch);
    // If the write fails, the next `await writing` throws. Until then, Node.js must not report the
    // rejection as unhandled.
    writing.catch(() => {});
  }
  await writing;
}
