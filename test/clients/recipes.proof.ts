import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { createOpenApiDocument } from 'store-orders/openapi';
import { createTestService } from 'store-orders/testing';
import { reason, without } from '../support/installed.js';
import { temporaryDirectory } from '../support/temporary-file.js';

/** The ids include 2^53 and 2^53 + 1, so that a rounded id would name another order that exists. */
const IDS = ['-9223372036854775808', '9007199254740992', '9007199254740993', '9223372036854775807'];
const [EVEN, ODD] = [2n ** 53n, 2n ** 53n + 1n];

const GSON = '/usr/share/java/gson.jar';

const PACKAGES = 'default-jdk-headless libgoogle-gson-java';
const withoutJava = existsSync(GSON) ? without('javac', PACKAGES) : reason(PACKAGES);
const withoutJq = without('jq');
const withoutPython = without('python3');

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

async function printed(t: TestContext, command: string, ...parameters: readonly string[]): Promise<string> {
  const { url, apiKey } = await listen(t);
  const script = `curl -sS -H "Authorization: Bearer $API_KEY" "$LIST" | ${command}`;
  const env = { ...process.env, API_KEY: apiKey, LIST: `${url}/store/orders` };
  return (await promisify(execFile)('sh', ['-c', script, 'sh', ...parameters], { env })).stdout;
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

test('the Python module json keeps every digit of an id; a float does not', { skip: withoutPython }, async (t) => {
  const print =
    'import json, sys\nfor order in json.load(sys.stdin): print(order["id"], int(float(order["id"])) == order["id"])';
  const lines = (await printed(t, 'python3 -c "$1"', print)).trim().split('\n');
  assert.deepEqual(lines, [`${IDS[0]} True`, `${EVEN} True`, `${ODD} False`, `${IDS[3]} False`]);
});

/**
 * Returns a Java program that reads the list of orders in two ways, as in the recipe and into a
 * Map, and cancels one order.
 */
const program = ([type, ...statements]: readonly string[]) => `
import com.google.gson.Gson;
import java.net.URI;
import java.net.http.*;
import java.util.*;

${type}

class Recipe {
  static HttpResponse<String> send(String method, String path) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(System.getenv("URL") + path))
        .header("Authorization", "Bearer " + System.getenv("API_KEY"))
        .method(method, HttpRequest.BodyPublishers.noBody()).build();
    return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
  }

  public static void main(String[] arguments) throws Exception {
    String text = send("GET", "/store/orders").body();
    ${statements.join('\n    ')}
    for (Order order : orders) System.out.print(order.id() + "," + order.petId() + " ");
    Map<?, ?> map = new Gson().fromJson(text, Map[].class)[2];
    System.out.println(((Number) map.get("id")).longValue());
    System.out.println(send("DELETE", "/store/orders/" + orders[2].id()).statusCode());
  }
}`;

test('the Java example of the OpenAPI document keeps every digit of an id, but a Map read by Gson does not', {
  skip: withoutJava,
}, async (t) => {
  const { url, apiKey, store } = await listen(t);
  const run = promisify(execFile);
  const cwd = temporaryDirectory();
  const options = { cwd, env: { ...process.env, CLASSPATH: `.:${GSON}`, URL: url, API_KEY: apiKey } };
  writeFileSync(join(cwd, 'Recipe.java'), program(recipe('java').split('\n')));
  await run('javac', ['Recipe.java'], options);
  const { stdout } = await run('java', ['Recipe'], options);
  assert.equal(stdout, `${IDS.map((id) => `${id},${id}`).join(' ')} ${EVEN}\n204\n`);
  assert.deepEqual([store.get(EVEN)?.status, store.get(ODD)?.status], ['pending', 'cancelled']);
});
