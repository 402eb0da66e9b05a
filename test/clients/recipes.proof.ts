import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { createOpenApiDocument } from 'store-orders/openapi';
import { createTestService } from 'store-orders/testing';
import { without } from '../support/installed.js';

/** The ids include 2^53 and 2^53 + 1, so that a rounded id would name another order that exists. */
const IDS = ['-9223372036854775808', '9007199254740992', '9007199254740993', '9223372036854775807'];
const EVEN = 2n ** 53n;

const withoutJq = without('jq');

/** Returns the code block in this language from the description of the OpenAPI document. */
function recipe(language: string): string {
  const { description } = createOpenApiDocument().info;
  const [, code] = new RegExp(`\`\`\`${language}\\n([^]*?)\\n\`\`\``).exec(description) ?? [];
  assert.ok(code !== undefined, language);
  return code;
}

async function listen(t: TestContext) {
  const service = createTestService({ orders: [...IDS.map((id) => ({ id: BigInt(id), petId: BigInt(id) }))] });
  const { url, close } = await service.listen();
  t.after(close);
  return { ...service, url };
}

async function printed(t: TestContext, command: string): Promise<string> {
  const { url, apiKey } = await listen(t);
  const script = `curl -sS -H "Authorization: Bearer $API_KEY" "$LIST" | ${command}`;
  const env = { ...process.env, API_KEY: apiKey, LIST: `${url}/store/orders` };
  return (await promisify(execFile)('sh', ['-c', script], { env })).stdout;
}

test('the JavaScript example of the OpenAPI document keeps every digit of an id', async () => {
  const { fetch, url, apiKey } = createTestService({ orders: IDS.map((id) => ({ id: BigInt(id) })) });
  const text = await (await fetch(`${url}/store/orders`, { headers: { Authorization: `Bearer ${apiKey}` } })).text();
  const orders: { id: string }[] = new Function('text', `return ${recipe('js')}`)(text);
  assert.deepEqual(
    orders.map(({ id }) => id),
    IDS,
  );
});

test('the shell example of the OpenAPI document keeps every digit of an id, but plain jq 1.6 does not', {
  skip: withoutJq,
}, async (t) => {
  assert.equal(await printed(t, recipe('sh')), `${IDS.join('\n')}\n`);
  if (!/^jq-1\.[0-6]\b/.test(execFileSync('jq', ['--version'], { encoding: 'utf8' }))) return;
  assert.deepEqual((await printed(t, "jq -r '.[1,2].id'")).split('\n'), [`${EVEN}`, `${EVEN}`, '']);
});
