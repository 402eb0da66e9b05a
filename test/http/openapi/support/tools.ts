import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const toolsFolder = fileURLToPath(new URL('../../../openapi-tools/', import.meta.url));

/** The reason to skip a test that needs the tools, or `false` if they are installed. */
export const withoutTools = existsSync(`${toolsFolder}node_modules`)
  ? false
  : 'the tools are not installed: npm ci --prefix test/openapi-tools';
