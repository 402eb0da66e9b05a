import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pathOf, runScript, toolsFolder, withoutTools } from './support/tools.js';
import { text } from './support/validate.js';

const tsc = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));

test('types generated from the OpenAPI document compile in strict mode, together with a client that uses them', {
  skip: withoutTools,
}, async () => {
  const generated = join(toolsFolder, 'generated');
  mkdirSync(generated, { recursive: true });
  const document = join(generated, 'openapi.json');
  writeFileSync(document, text);
  await runScript(pathOf('generator'), document, '--output', join(generated, 'orders.d.ts'));
  await runScript(tsc, '--project', toolsFolder);
});
