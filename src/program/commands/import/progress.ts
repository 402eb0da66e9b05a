import type { ReadStream } from 'node:fs';

const BAR_WIDTH = 30;
const DRAW_EVERY_MS = 100;

/** Draws on a terminal, until it is closed, how much of a file is read. Returns a function that removes the bar. */
export function drawProgress(input: ReadStream, bytes: number): () => void {
  const { stderr } = process;
  if (!stderr.isTTY) return () => {};
  stderr.on('error', () => {});
  let bar = '';
  function draw(): void {
    const part = bytes === 0 ? 1 : input.bytesRead / bytes;
    bar = `importing [${'='.repeat(Math.round(part * BAR_WIDTH)).padEnd(BAR_WIDTH)}] ${Math.round(part * 100)} %`;
    stderr.write(`\r${bar}`);
  }
  draw();
  const timer = setInterval(draw, DRAW_EVERY_MS);
  return () => {
    clearInterval(timer);
    stderr.write(`\r${' '.repeat(bar.length)}\r`);
  };
}
