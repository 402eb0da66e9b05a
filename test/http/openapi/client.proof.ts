import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createMemoryOrderStore, nodeHandler } from 'store-orders';
import { createShop } from '../support/shop.js';
import { listen } from '../support/ways.js';
import { pathOf, runScript, toolsFolder, withoutTools } from './support/tools.js';
import { text } from './support/validate.js';

const tsc = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

test('types generated from the OpenAPI document compile in strict mode, and a client written with them can list and cancel orders', {
  skip: withoutTools,
}, async () => {
  const generated = join(toolsFolder, 'generated');
  mkdirSync(generated, { recursive: true });
  const document = join(generated, 'openapi.json');
  writeFileSync(document, text);
  await runScript(pathOf('generator'), document, '--output', join(generated, 'orders.d.ts'));
  await runScript(tsc, '--project', toolsFolder);

  // The generated types map int64 to number. This id is above 2^53, but a number can hold it.
  const id = 2n ** 53n + 2n;
  const { service } = createShop({ store: createMemoryOrderStore([{ id: 1 }, { id }]) });
  const { port, close } = await listen(nodeHandler(service));
  const client = fileURLToPath(new URL('../../openapi-tools/client.ts', import.meta.url));
  const printed = await runScript('--import', tsx, client, `http://127.0.0.1:${port}/v1`, 'free-key');
  await close();
  assert.deepEqual(JSON.parse(printed), {
    count: 2,
    remaining: '59',
    orderId: Number(id),
    statuses: [204, 409],
    code: 'order_already_cancelled',
  });
});
