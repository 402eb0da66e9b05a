import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { createProject, outerEnvironment, packInto } from '../../support/outer-environment.js';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

const runners = join(root, 'test/runner-tools/node_modules');
const skip = existsSync(runners) ? false : 'the test runners are not installed: npm ci --prefix test/runner-tools';

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  vitest: [join(runners, 'vitest/vitest.mjs'), 'run', '--testTimeout=60000'],
  jest: ['--experimental-vm-modules', join(runners, 'jest/bin/jest.js'), '--testTimeout=60000'],
};

suite('a separate project that installs the packed package', { skip }, () => {
  let folder: string;
  before(() => {
    folder = temporaryDirectory();
    // Node.js also looks for imported packages in the parent folder of the project.
    symlinkSync(runners, join(folder, 'node_modules'));
    createProject(join(folder, 'project'), 'module', packInto(folder));
  });

  /** Runs a test in a folder of its own, because a runner takes that of package.json as its root. */
  function passes(runner: string, name: string, type: 'module' | 'commonjs', code: string): string {
    const cwd = join(folder, 'project', name);
    mkdirSync(cwd);
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ type }));
    writeFileSync(join(cwd, 'shop.test.js'), code);
    const { status, stdout, stderr } = spawnSync(process.execPath, COMMANDS[runner] ?? [], {
      cwd,
      env: { ...outerEnvironment(), NO_COLOR: '1' },
      encoding: 'utf8',
      timeout: 600_000,
    });
    assert.equal(status, 0, stdout + stderr);
    return stdout + stderr;
  }

  for (const runner of Object.keys(COMMANDS)) {
    test(`quotas and delayed responses follow the fake timers of ${runner}`, () => {
      const example = readFileSync(join(root, `examples/fake-timers.${runner}.js`), 'utf8');
      assert.match(passes(runner, runner, 'module', example), /Tests:? +2 passed/);
    });
  }

  /** Sends requests as a page does: by MSW, and to a server of another origin. */
  const PAGE = `
    import { http, HttpResponse } from 'msw';
    import { setupServer } from 'msw/node';
    const load = (url, apiKey) => new Promise((resolve, reject) => {
      const request = Object.assign(new XMLHttpRequest(), { onload: () => resolve(request.responseText), onerror: reject });
      request.open('GET', url + '/store/orders');
      request.setRequestHeader('Authorization', 'Bearer ' + apiKey);
      request.send();
    });
    test('by MSW', async () => {
      const service = createTestService({ orders });
      const answer = ({ request }) => service.fetch(request).catch(() => HttpResponse.error());
      const server = setupServer(http.all(service.url + '/*', answer));
      server.listen();
      expect(JSON.parse(await load(service.url, service.apiKey))).toHaveLength(600);
      server.close();
    });
    test('by a socket', async () => {
      const service = createTestService({ orders, corsOrigins: ['*'] });
      const { url, close } = await service.listen();
      expect(JSON.parse(await load(url, service.apiKey))).toHaveLength(600);
      await close();
    });`;

  for (const [runner, environment, page] of [
    ['vitest', 'jsdom', PAGE],
    ['vitest', 'happy-dom', PAGE],
    ['jest', 'jest-fixed-jsdom', ''],
  ] as const) {
    test(`long lists arrive whole in the environment ${environment} of ${runner}, whatever coding is accepted`, () => {
      const imports = runner === 'vitest' ? "import { expect, test } from 'vitest';" : '';
      const code = `/** @${runner}-environment ${environment} */
        ${imports}
        import { createTestService } from 'store-orders/testing';
        const orders = Array.from({ length: 600 }, (_, id) => ({ id }));
        test('by fetch', async () => {
          const { url, fetch, apiKey } = createTestService({ orders });
          for (const coding of ['identity', 'gzip']) {
            const headers = { Authorization: 'Bearer ' + apiKey, 'Accept-Encoding': coding };
            expect(await (await fetch(url + '/store/orders', { headers })).json()).toHaveLength(600);
          }
        });
        ${page}`;
      assert.match(passes(runner, environment, 'module', code), /Tests:? +[13] passed/);
    });
  }

  const hasSqlite = isBuiltin('node:sqlite');
  test('in Jest, a write waits for the lock of a SQLite file, although the error of node:sqlite is of another realm', {
    skip: !hasSqlite && 'this Node.js has no node:sqlite',
  }, () => {
    const code = `
      import { DatabaseSync } from 'node:sqlite';
      import { createSqliteOrderStore } from 'store-orders/sqlite';
      test('waits', async () => {
        const [database, other] = [new DatabaseSync('orders.db'), new DatabaseSync('orders.db')];
        const store = createSqliteOrderStore(database);
        await store.put([{ id: 1n }]);
        other.exec('BEGIN IMMEDIATE');
        const cancelled = store.cancel(1n);
        setTimeout(() => other.exec('COMMIT'), 50);
        expect(await cancelled).toBe('cancelled');
      });`;
    passes('jest', 'sqlite', 'module', code);
  });

  test('a CommonJS test of Jest can load the package as examples/README.md shows', () => {
    const guide = readFileSync(join(root, 'examples/README.md'), 'utf8');
    const [, load = ''] = /In a CommonJS test, `(.+?)`/.exec(guide) ?? [];
    const loads = `test('loads', async () => { ${load}; expect(createTestService().apiKey).toMatch(/./); });`;
    passes('jest', 'commonjs', 'commonjs', loads);
  });
});
