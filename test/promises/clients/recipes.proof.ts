import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { createOpenApiDocument } from 'store-orders/openapi';
import { createTestService } from 'store-orders/testing';
import { without } from '../../support/installed.js';

/** A rounded id would be equal to a neighbour in this list. */
const IDS = ['-9223372036854775808', '9007199254740992', '9007199254740993', '9223372036854775807'];

/** Returns the code block in this language from the description of the OpenAPI document. */
function recipe(language: string): string {
  const { description } = createOpenApiDocument().info;
  const [, code] = new RegExp(`\`\`\`${language} .*\\n([^]*?)\\n\`\`\``).exec(description) ?? [];
  return code ?? assert.fail(`no code block in ${language}`);
}

async function list(): Promise<string> {
  const orders = IDS.map((id) => ({ id: BigInt(id), petId: BigInt(id) }));
  const { fetch, url, apiKey } = createTestService({ orders });
  return (await fetch(`${url}/store/orders`, { headers: { Authorization: `Bearer ${apiKey}` } })).text();
}

test('the JavaScript example of the OpenAPI document keeps every digit of an id', async () => {
  const orders: unknown = new Function('text', `return ${recipe('js')}`)(await list());
  assert.deepEqual(
    orders,
    IDS.map((id) => ({ id, petId: id })),
  );
});

test('the shell example of the OpenAPI document keeps every digit of an id', { skip: without('jq') }, async () => {
  const printed = execFileSync('sh', ['-c', recipe('sh')], { input: await list(), encoding: 'utf8' });
  assert.equal(printed, `${IDS.join('\n')}\n`);
});
