import { createOpenApiDocument, serializeOpenApiDocument } from '../../http/openapi/document.js';
import { readSettings } from '../config/read-settings.js';
import { type Command, settingOptions } from './command.js';

export const openApiCommand: Command = {
  name: 'openapi',
  summary: 'Prints the OpenAPI 3.1 document, as the server returns it at /openapi.json.',
  examples: ['openapi > openapi.json', 'openapi --base-path /v2'],
  options: settingOptions(['basePath']),
  run(invocation) {
    const { basePath } = readSettings(invocation, ['basePath']).settings;
    return { outcome: 'done', text: serializeOpenApiDocument(createOpenApiDocument({ basePath })) };
  },
};
