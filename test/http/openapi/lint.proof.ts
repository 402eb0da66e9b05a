import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { pathOf, runScript, withoutTools } from './support/tools.js';
import { text } from './support/validate.js';

function write(document: string): string {
  const file = join(temporaryDirectory(), 'openapi.json');
  writeFileSync(file, document);
  return file;
}

const redocly = (file: string) => runScript(pathOf('redocly'), 'lint', '--extends=recommended-strict', file);
const spectral = (file: string) =>
  runScript(pathOf('spectral'), 'lint', '--ruleset', 'spectral.yaml', '--fail-severity', 'hint', file);

suite('the document, linted', { skip: withoutTools, concurrency: true }, () => {
  test('redocly finds no problem, by its strict rules', async () => {
    await redocly(write(text));
  });

  test('spectral finds no problem, not even by the OWASP rules', async () => {
    await spectral(write(text));
  });

  test('spectral reports a response that is documented without a limit field', async () => {
    const document = JSON.parse(text);
    delete document.components.responses.TooManyRequests.headers['X-RateLimit-Limit'];
    await assert.rejects(spectral(write(JSON.stringify(document))), /rate-limit/);
  });
});
