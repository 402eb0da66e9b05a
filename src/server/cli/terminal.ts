/** The part of a terminal that is used. */
export interface ProgressStream {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

const WIDTH = 30;

/** A bar that is drawn again where it stands; on anything but a terminal nothing at all. */
export function createProgressBar(stream: ProgressStream, title: string) {
  let drawn = '';
  return {
    /** The part that is done, 0 to 1. */
    show(part: number): void {
      const full = Math.round(part * WIDTH);
      const bar = `${title} [${'='.repeat(full)}${' '.repeat(WIDTH - full)}] ${Math.round(part * 100)} %`;
      if (!stream.isTTY || bar === drawn) return;
      drawn = bar;
      stream.write(`\r${bar}`);
    },
    clear(): void {
      if (drawn !== '') stream.write(`\r${' '.repeat(drawn.length)}\r`);
    },
  };
}
