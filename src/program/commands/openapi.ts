import { createOpenApiDocument } from '../../http/openapi/index.js';
import { readSettings } from '../settings/read-settings.js';
import { type Command, settingOptions } from './command.js';

export const openApiCommand: Command = {
  name: 'openapi',
  summary: 'Prints the OpenAPI 3.1 document, as the server returns it at /openapi.json.',
  examples: ['openapi > openapi.json', 'openapi --base-path /v2'],
  options: settingOptions(['basePath', 'publicUrl']),
  run(invocation) {
    const { basePath, publicUrl } = readSettings(invocation, ['basePath', 'publicUrl']).settings;
    return { exitCode: 0, text: JSON.stringify(createOpenApiDocument({ basePath, publicUrl }), null, 2) };
  },
};
