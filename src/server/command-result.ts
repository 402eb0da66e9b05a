/** The result of a command. The exit code is 0 for `done`. */
export type CommandResult =
  /**
   * The output: `text` is for people, and `json` is one JSON value for scripts. Both are absent if
   * the command has written its output itself.
   */
  | { readonly outcome: 'done'; readonly text?: string; readonly json?: string }
  | { readonly outcome: 'failed'; readonly message: string; readonly exitCode: number };

/** Thrown for an invalid command line or setting. The exit code is 2. */
export class Misuse extends Error {}

export function done(text: string, value: unknown): CommandResult {
  return { outcome: 'done', text, json: JSON.stringify(value) };
}

export function failed(message: string, exitCode = 1): CommandResult {
  return { outcome: 'failed', message, exitCode };
}
