import { checkHealth } from '../serve/healthcheck.js';
import { readSettings } from '../settings/read-settings.js';
import { type Command, settingOptions } from './command.js';

export const healthcheckCommand: Command = {
  name: 'healthcheck',
  summary: 'Asks the server at --host and --port for its health. Exits with 0 if it is healthy, otherwise with 1.',
  options: {
    ready: { about: 'ask whether the server is ready for requests (/readyz), not only whether it runs (/healthz)' },
    ...settingOptions(['host', 'port']),
  },
  examples: ['healthcheck', 'healthcheck --ready --port 3000'],
  run: (invocation) => checkHealth(readSettings(invocation, ['host', 'port']).settings, invocation.flags.has('ready')),
};
