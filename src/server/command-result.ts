/** The result of a command. The exit code is 0 for `done`, 1 for `failed` and 2 for `misused`. */
export type CommandResult =
  /**
   * The output: `text` is for people, and `json` is one JSON value for scripts. Both are absent if
   * the command has written its output itself.
   */
  | { readonly outcome: 'done'; readonly text?: string; readonly json?: string }
  | { readonly outcome: 'failed' | 'misused'; readonly message: string };

export function done(text: string, value: unknown): CommandResult {
  return { outcome: 'done', text, json: JSON.stringify(value) };
}

export function failed(message: string): CommandResult {
  return { outcome: 'failed', message };
}

export function misused(message: string): CommandResult {
  return { outcome: 'misused', message };
}
