import { type CommandResult, done, misused } from '../command-result.js';
import { readSettings } from '../config/read-settings.js';
import { SETTING_NAMES } from '../config/settings.js';
import { type Command, type Invocation, settingOptions } from './command.js';
import { createTable } from './terminal.js';

export const configCommand: Command = {
  name: 'config print',
  summary: 'Shows the settings that serve would use and where each comes from, without passwords.',
  operands: [],
  options: settingOptions(SETTING_NAMES),
  examples: ['config print', 'config print --config settings.json --json'],
  run: printConfig,
};

function printConfig(invocation: Invocation): CommandResult {
  const read = readSettings(invocation);
  if (!read.ok) return misused(read.mistake);
  const { settings, sources } = read;
  const shown = SETTING_NAMES.map((name) => {
    const source = sources.get(name);
    const value = source === undefined ? (settings[name] ?? null) : source.value;
    return {
      name,
      value: typeof value === 'string' ? withoutPasswords(value) : value,
      from: source?.label ?? 'default',
    };
  });
  const table = createTable(process.stdout, [{ title: 'SETTING' }, { title: 'VALUE' }, { title: 'FROM' }]);
  const rows = shown.map(({ name, value, from }) => [name, `${value ?? ''}`, from]);
  const json = Object.fromEntries(shown.map(({ name, value, from }) => [name, { value, from }]));
  return done(table(rows).join('\n'), json);
}

/** Removes users, passwords and parameters from URLs. */
function withoutPasswords(text: string): string {
  return text.includes('://') ? text.replace(/:\/\/[^/?#]*@/g, '://').replace(/[?#].*$/, '') : text;
}
