import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { planTable } from '../../../dist/limits/plan-table.js';
import { commandsIn } from '../../program/support/program.js';
import { messageFrom } from '../../support/outer-environment.js';
import { filesOf, root } from '../../support/root.js';

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code);

// The folder is inside the project, so that the import of `store-orders` resolves to the project.
mkdirSync(join(root, '.cache'), { recursive: true });
const folder = mkdtempSync(join(root, '.cache/readme-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function start(name: string, code: string) {
  const file = join(folder, name);
  writeFileSync(file, code);
  return spawn(process.execPath, ['--import', 'tsx', file], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

test('the server in the first code block of the README responds as the console example shows', async (t) => {
  const code = blocks[0]?.replace('.listen(8080)', '.listen(0, function () { process.send(this.address().port) })');
  const child = start('server.mjs', code ?? '');
  t.after(() => child.kill());
  const port = await messageFrom<number>(child);
  const response = await fetch(`http://127.0.0.1:${port}/v1/store/orders`, {
    headers: { Authorization: 'Bearer sesame' },
  });
  const [, shown = ''] = /```console\n\$ curl.*\n([\s\S]*?)```/.exec(readme) ?? [];
  const [head = '', body = ''] = shown.split('\n\n');
  const [status, ...fields] = head.split('\n');
  assert.equal(status, `HTTP/1.1 ${response.status} OK`);
  assert.equal(fields.length, 3);
  for (const field of fields) {
    const [name = '', value] = field.split(': ');
    assert.equal(response.headers.get(name), value, name);
  }
  assert.equal(`${await response.text()}\n`, body);
});

test('the code block "Test your client" of the README passes', async () => {
  const [status] = await once(start('test.ts', blocks[1] ?? ''), 'exit');
  assert.equal(status, 0);
});

test('the README shows the quotas of the fixed plans', () => {
  const { windows, rows } = planTable();
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const head = line(['plan', ...windows.map((window) => `per ${window}`)]);
  assert.ok(readme.includes(head), head);
  for (const [name, ...quotas] of rows.slice(0, -1)) assert.ok(readme.includes(line([`\`${name}\``, ...quotas])), name);
});

test('the README lists every subpath of the package', () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const path of Object.keys(exports)) {
    if (path !== './package.json')
      assert.match(readme, new RegExp(`\\| \`${path.replace('.', 'store-orders')}\` +\\|`));
  }
});

test('the examples in doc comments run without errors', async () => {
  const examples = filesOf('src')
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readFileSync(join(root, file), 'utf8').matchAll(/^ *\* ```ts\n(.*?)^ *\* ```$/gms)])
    .map(([, code = '']) => code.replaceAll(/^ *\* ?/gm, ''))
    .filter((code) => code.includes('import '));
  assert.ok(examples.length >= 10, `${examples.length} examples`);
  for (const [index, code] of examples.entries()) {
    const file = join(folder, `example-${index}.ts`);
    writeFileSync(file, code);
    await import(pathToFileURL(file).href);
  }
});

test('every test that README.md, CONTRIBUTING.md, SECURITY.md or the README of a folder names exists', () => {
  const files = ['src', 'test', 'bench', 'examples'].flatMap(filesOf);
  const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...files.filter((file) => file.endsWith('/README.md'))];
  const text = pages.map((page) => readFileSync(join(root, page), 'utf8')).join('\n');
  const named = Array.from(text.matchAll(/`([\w./-]+\.(?:test|proof)\.ts)`/g), ([, name]) => name);
  assert.ok(named.length > 50, `${named.length} tests are named`);
  assert.deepEqual(
    named.filter((name) => !files.some((file) => `/${file}`.endsWith(`/${name}`))),
    [],
  );
});

test('src/program/README.md names only commands and options that the program has', async () => {
  const text = readFileSync(join(root, 'src/program/README.md'), 'utf8');
  const lines = [...text.matchAll(/^store-orders (.+)$/gm)].map(([, line = '']) => line.split(' '));
  assert.ok(lines.length > 0);
  const { output } = commandsIn();
  const helps: string[] = [];
  for (const words of lines) {
    const help = await output([...words, '--help']);
    helps.push(help);
    for (const option of words.filter((word) => word.startsWith('--'))) {
      assert.match(help, new RegExp(`^ {2}${option}( |$)`, 'm'), words.join(' '));
    }
  }
  for (const [, option = ''] of text.matchAll(/`(--[a-z-]+)/g)) {
    assert.ok(
      helps.some((help) => help.includes(`  ${option} `)),
      option,
    );
  }
});
