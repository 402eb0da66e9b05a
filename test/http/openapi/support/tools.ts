import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { outerEnvironment } from '../../../support/outer-environment.js';

export const toolsFolder = fileURLToPath(new URL('../../../openapi-tools/', import.meta.url));

/** The reason to skip a test that needs the tools, or `false` if they are installed. */
export const withoutTools = existsSync(`${toolsFolder}node_modules`)
  ? false
  : 'the tools are not installed: npm ci --prefix test/openapi-tools';

/** The path of each tool's script in node_modules. */
export const TOOLS = {
  redocly: '@redocly/cli/bin/cli.js',
  spectral: '@stoplight/spectral-cli/dist/index.js',
  generator: 'openapi-typescript/bin/cli.js',
} as const;

export function pathOf(tool: keyof typeof TOOLS): string {
  return `${toolsFolder}node_modules/${TOOLS[tool]}`;
}

/** Returns an environment in which the tools write no coverage and send no data. */
function toolEnvironment(): NodeJS.ProcessEnv {
  return { ...outerEnvironment(), REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' };
}

/**
 * Runs a Node.js script, with the folder of the tools as its current directory. Rejects with the
 * script's output unless it exits with 0.
 */
export async function runScript(script: string, ...parameters: readonly string[]): Promise<string> {
  const options = { cwd: toolsFolder, env: toolEnvironment(), timeout: 60_000 };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...parameters], options);
    return stdout;
  } catch (error) {
    const { stdout, stderr } = Object(error);
    throw new Error(`${script}: ${stdout}\n${stderr}`, { cause: error });
  }
}
