import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { outerEnvironment } from '../../support/outer-environment.js';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { toolsFolder, withoutTools } from './support/tools.js';
import { text } from './support/validate.js';

/** With these variables, the tools send no data and print no colours. */
const QUIET = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' };

/** Runs a script in the folder of the tools. Rejects with the script's output unless it exits with 0. */
async function run(script: string, ...parameters: readonly string[]): Promise<void> {
  const options = { cwd: toolsFolder, env: { ...outerEnvironment(), ...QUIET }, timeout: 600_000 };
  try {
    await promisify(execFile)(process.execPath, [script, ...parameters], options);
  } catch (error) {
    const { stdout, stderr } = Object(error);
    throw new Error(`${script}: ${stdout}\n${stderr}`, { cause: error });
  }
}

function write(document: string, folder = temporaryDirectory()): string {
  const file = join(folder, 'openapi.json');
  writeFileSync(file, document);
  return file;
}

const spectral = (file: string) => {
  const script = 'node_modules/@stoplight/spectral-cli/dist/index.js';
  return run(script, 'lint', '--ruleset', 'spectral.yaml', '--fail-severity', 'hint', file);
};

suite('the document, read by tools', { skip: withoutTools, concurrency: true }, () => {
  test('redocly finds no problem, by its strict rules', () =>
    run('node_modules/@redocly/cli/bin/cli.js', 'lint', '--extends=recommended-strict', write(text)));

  test('spectral finds no problem, not even by the OWASP rules', () => spectral(write(text)));

  test('spectral reports a response that is documented without a limit field', async () => {
    const document = JSON.parse(text);
    delete document.components.responses.TooManyRequests.headers['X-RateLimit-Limit'];
    await assert.rejects(spectral(write(JSON.stringify(document))), /rate-limit/);
  });

  test('types generated from the document compile in strict mode, together with a client that uses them', async () => {
    const generated = join(toolsFolder, 'generated');
    mkdirSync(generated, { recursive: true });
    const types = join(generated, 'orders.d.ts');
    await run('node_modules/openapi-typescript/bin/cli.js', write(text, generated), '--output', types);
    await run(join(root, 'node_modules/typescript/bin/tsc'), '--project', toolsFolder);
  });
});
