import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { createProject, outerEnvironment, packInto } from '../../support/outer-environment.js';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

const runners = join(root, 'test/runner-tools/node_modules');
const skip = existsSync(runners) ? false : 'the test runners are not installed: npm ci --prefix test/runner-tools';

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  vitest: [join(runners, 'vitest/vitest.mjs'), 'run'],
  jest: ['--experimental-vm-modules', join(runners, 'jest/bin/jest.js')],
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
      timeout: 60_000,
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

  test('a CommonJS test of Jest can load the package as examples/README.md shows', () => {
    const guide = readFileSync(join(root, 'examples/README.md'), 'utf8');
    const [, load = ''] = /In a CommonJS test, `(.+?)`/.exec(guide) ?? [];
    const loads = `test('loads', async () => { ${load}; expect(createTestService().apiKey).toMatch(/./); });`;
    passes('jest', 'commonjs', 'commonjs', loads);
  });
});
