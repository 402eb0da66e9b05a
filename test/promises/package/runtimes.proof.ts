import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { createProject, outerEnvironment, packInto } from '../../support/outer-environment.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

/** Runs the audits over a fetch handler in the process, and over a socket of the runtime's node:http. */
const AUDITS = `
  import { createServer } from 'node:http';
  import { nodeHandler } from 'store-orders';
  import { fetchHandler } from 'store-orders/fetch';
  import { createTestService, serviceAudits } from 'store-orders/testing';

  const inProcess = createTestService();
  const handle = fetchHandler(inProcess.service);
  const behindSocket = createTestService();
  const server = createServer(nodeHandler(behindSocket.service));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = 'http://127.0.0.1:' + server.address().port + '/v1';

  const targets = [
    { ...inProcess, fetch: (input, init) => handle(new Request(input, init)) },
    { ...behindSocket, url, fetch },
  ];
  for (const { run } of targets.flatMap(serviceAudits)) await run();
  console.log('passed');
  process.exit();`;

/** Cancels an order in a file, whose threads Deno starts and ends. */
const FILE = `
  import { openSqliteOrderStore } from 'store-orders/sqlite';
  const store = openSqliteOrderStore('orders.db');
  await store.put([{ id: 1 }]);
  console.log(await store.cancel(1n));
  await store.close();`;

const RUNTIMES: Readonly<Record<string, readonly [command: string, ...parameters: string[]]>> = {
  'Node.js': [process.execPath],
  Bun: ['bun'],
  Deno: ['deno', 'run', '--allow-all'],
};

let cwd: string;

before(() => {
  const folder = temporaryDirectory();
  cwd = join(folder, 'project');
  createProject(cwd, 'module', packInto(folder));
  writeFileSync(join(cwd, 'audits.js'), AUDITS);
  writeFileSync(join(cwd, 'file.js'), FILE);
});

for (const [name, [command, ...parameters]] of Object.entries(RUNTIMES)) {
  const isMissing = spawnSync(command, ['--version']).error !== undefined;
  const skip = isMissing && `${command} is not in the PATH: npm install --global ${command}`;
  const run = (...rest: readonly string[]) =>
    spawnSync(command, [...parameters, ...rest], { cwd, env: outerEnvironment(), encoding: 'utf8' });

  test(`the library of the installed package passes the audits in ${name}`, { skip }, () => {
    const { status, stdout, stderr } = run('audits.js');
    assert.deepEqual([status, stdout], [0, 'passed\n'], stderr);
  });

  if (name === 'Node.js') continue;
  // Bun has neither node:sqlite nor a libsql that the project installs.
  if (name === 'Deno') {
    test('the store in a SQLite file works in Deno', { skip }, () => {
      const { status, stdout, stderr } = run('file.js');
      assert.deepEqual([status, stdout], [0, 'cancelled\n'], stderr);
    });
  }
  test(`in ${name}, the program says that it needs Node.js`, { skip }, () => {
    const program = 'node_modules/store-orders/dist/program/main.js';
    for (const words of [
      ['serve', '--db', ':memory:', '--port', '0'],
      ['keys', 'list'],
    ]) {
      const { status, stderr } = run(program, ...words);
      const says = `store-orders: the program runs only in Node.js; in ${command}, mount fetchHandler of "store-orders/fetch" instead\n`;
      assert.deepEqual([status, stderr], [1, says]);
    }
  });
}
