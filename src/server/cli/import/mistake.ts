/** A reason to store none of the orders: a mistake in the input on this line, or an interruption. */
export class ImportMistake extends Error {
  override readonly name = 'ImportMistake';
  readonly line: number | undefined;

  constructor(line: number | undefined, message: string) {
    super(message);
    this.line = line;
  }
}
