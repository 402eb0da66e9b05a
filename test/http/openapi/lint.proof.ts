import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { pathOf, runScript, withoutTools } from './support/tools.js';
import { text } from './support/validate.js';

function write(t: TestContext, document: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'store-orders-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'openapi.json');
  writeFileSync(file, document);
  return file;
}

const redocly = (file: string) => runScript(pathOf('redocly'), 'lint', '--extends=recommended-strict', file);
const spectral = (file: string) =>
  runScript(pathOf('spectral'), 'lint', '--ruleset', 'spectral.yaml', '--fail-severity', 'hint', file);

suite('the document, linted', { skip: withoutTools, concurrency: true }, () => {
  test('redocly finds no problem, by its strict rules', async (t) => {
    await redocly(write(t, text));
  });

  test('spectral finds no problem, not even by the OWASP rules', async (t) => {
    await spectral(write(t, text));
  });

  test('spectral reports a response that is documented without a limit field', async (t) => {
    const document = JSON.parse(text);
    delete document.components.responses.TooManyRequests.headers['X-RateLimit-Limit'];
    await assert.rejects(spectral(write(t, JSON.stringify(document))), /rate-limit/);
  });

  test('redocly reports a broken reference', async (t) => {
    await assert.rejects(redocly(write(t, text.replace('schemas/OrderList"', 'schemas/Nothing"'))), /Nothing/);
  });
});
