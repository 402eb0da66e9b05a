/** The result of a command: exit code 0, 1 or 2. */
export type Outcome =
  /**
   * `text` for a person, or `json` with one JSON value. Neither if the command has written its
   * output itself.
   */
  | { readonly outcome: 'done'; readonly text?: string; readonly json?: string }
  | { readonly outcome: 'failed' | 'misused'; readonly message: string };

export function done(text: string, value: unknown): Outcome {
  return { outcome: 'done', text, json: JSON.stringify(value) };
}

export function failed(message: string): Outcome {
  return { outcome: 'failed', message };
}

export function misused(message: string): Outcome {
  return { outcome: 'misused', message };
}
