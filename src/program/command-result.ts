/** The result of a command. */
export type CommandResult =
  /**
   * The output: `text` is for people, and `json` is one JSON value for scripts. Both are absent if
   * the command has written its output itself. `ifUnseen` is what to do if it cannot be written.
   */
  | { readonly exitCode: 0; readonly text?: string; readonly json?: string; readonly ifUnseen?: string }
  | { readonly exitCode: FailureCode; readonly message: string };

/** 1 for a failure, 2 for an invalid command line or setting, 130 for SIGINT, as shells report it. */
type FailureCode = 1 | 2 | 130;

/** Thrown for an invalid command line or setting. */
export class Misuse extends Error {}

export function done(text: string, value?: unknown, ifUnseen?: string): CommandResult {
  return { exitCode: 0, text, json: JSON.stringify(value), ...(ifUnseen !== undefined && { ifUnseen }) };
}

export function failed(message: string, exitCode: FailureCode = 1): CommandResult {
  return { exitCode, message };
}
