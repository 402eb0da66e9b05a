import { type CommandResult, done } from '../command-result.js';
import { readSettings } from '../settings/read-settings.js';
import { SETTING_NAMES } from '../settings/settings.js';
import { type Command, type Invocation, settingOptions } from './command.js';
import { createTable } from './table.js';

export const configCommand: Command = {
  name: 'config print',
  summary: 'Shows the settings that serve would use and where each comes from, without passwords.',
  options: settingOptions(SETTING_NAMES),
  examples: ['config print', 'config print --config settings.json --json'],
  run: printConfig,
};

function printConfig(invocation: Invocation): CommandResult {
  const { settings, sources } = readSettings(invocation);
  const shown = SETTING_NAMES.map((name) => {
    const [source, setting] = [sources.get(name), settings[name] ?? null];
    // A setting that is parsed to an object, such as a URL, is shown as the user wrote it.
    const value = typeof setting === 'object' && source !== undefined ? source.value : setting;
    return {
      name,
      value: typeof value === 'string' ? withoutPasswords(value) : value,
      from: source?.label ?? 'default',
    };
  });
  const table = createTable(['SETTING', 'VALUE', 'FROM']);
  const rows = shown.map(({ name, value, from }) => [name, `${value ?? ''}`, from]);
  const json = Object.fromEntries(shown.map(({ name, value, from }) => [name, { value, from }]));
  return done(table(rows).join('\n'), json);
}

/** Removes users, passwords and parameters from URLs. */
function withoutPasswords(text: string): string {
  return text.includes('://') ? text.replace(/:\/\/[^/?#]*@/g, '://').replace(/[?#].*$/, '') : text;
}
