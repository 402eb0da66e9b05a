import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { createProject, packInto, run } from '../../support/outer-environment.js';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const subpaths = Object.keys(manifest.exports)
  .filter((path) => path !== './package.json')
  .map((path) => path.replace(/^\./, 'store-orders'));
const tsc = join(root, 'node_modules/typescript/bin/tsc');

const kinds = ['commonjs', 'module'] as const;
let folder: string;

before(() => {
  folder = temporaryDirectory();
  const tarball = packInto(folder);
  for (const kind of kinds) createProject(join(folder, kind), kind, tarball);
});

test('an installation of the library installs only two other packages', () => {
  for (const kind of kinds) {
    const installed = readdirSync(join(folder, kind, 'node_modules')).filter((name) => !name.startsWith('.'));
    assert.deepEqual(installed.sort(), ['lru-cache', 'store-orders', 'valibot']);
  }
});

test('after a build, the file of the program is executable, so that a link to it can be run', () => {
  assert.equal(statSync(join(root, 'dist/program/main.js')).mode & 0o111, 0o111);
});

test('every subpath of the package loads with require and with import, without any database driver', () => {
  const noDriver = "if (process.moduleLoadList.some((name) => name.includes('sqlite'))) throw new Error('a driver')";
  for (const kind of kinds) {
    const load = kind === 'commonjs' ? 'require' : 'await import';
    const loads = subpaths.map(
      (path) => `if (Object.keys(${load}('${path}')).length === 0) throw new Error('${path}');`,
    );
    run(process.execPath, [`--input-type=${kind}`, '-e', [...loads, noDriver].join('\n')], join(folder, kind));
  }
});

test('without the PostgreSQL driver, the program prints one sentence that names what to install', () => {
  const program = 'node_modules/store-orders/dist/program/main.js';
  const args = [program, 'keys', 'list', '--database-url', 'postgres://ann:secret@localhost:1/shop'];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: join(folder, 'module'), encoding: 'utf8' });
  const says =
    'store-orders: cannot open the database of this URL: the PostgreSQL driver is not installed; run "npm install pg"\n';
  assert.deepEqual([status, stderr], [1, says]);
});

/** Compiles an import of every subpath in a project of this module type, without skipLibCheck. */
function compileImports(kind: (typeof kinds)[number], compiler: string, typeRoots: string): void {
  const uses = subpaths.map((path, index) => `import * as part${index} from '${path}';\nvoid part${index};`);
  const wrong = '// @ts-expect-error the options are not optional\npart0.createOrderService();\n';
  const options = ['--module', 'nodenext', '--target', 'es2022', '--strict', '--noEmit', '--types', 'node'];
  writeFileSync(join(folder, kind, 'consumer.ts'), `${uses.join('\n')}\n${wrong}`);
  const parameters = [compiler, ...options, '--typeRoots', typeRoots, 'consumer.ts'];
  run(process.execPath, parameters, join(folder, kind));
}

test('every subpath has its types, for CommonJS and for ESM', () => {
  for (const kind of kinds) compileImports(kind, tsc, join(root, 'node_modules/@types'));
});

// Installed by `test/nodes.ts`, together with types of Node.js that this compiler can read.
const oldest = join(process.env['STORE_ORDERS_TEST_MODULES'] ?? '', 'node_modules');
const withoutOldest = !existsSync(join(oldest, 'typescript-oldest')) && 'TypeScript 5.0 is missing: npm run test:nodes';
test('every subpath has its types in TypeScript 5.0, the oldest that is promised', { skip: withoutOldest }, () => {
  compileImports('module', join(oldest, 'typescript-oldest/bin/tsc'), join(oldest, '@types'));
});

test('the tarball contains the program, its types, the examples and the documents, and nothing else', () => {
  const files = readdirSync(join(folder, 'module/node_modules/store-orders'), { recursive: true, encoding: 'utf8' });
  const expected = [
    /^dist(?:\/[a-z]+)*(?:\/[a-z0-9-]+(?:\.d\.ts|\.js|\.css|\.svg))?$/,
    /^(?:package\.json|LICENSE|(?:README|CHANGELOG|CONTRIBUTING|SECURITY)\.md)$/,
    /^examples(?:\/|$)/,
    /^(?:src|test|bench)(?:\/[a-z]+)*(?:\/README\.md)?$/,
    /^(?:test\/AUDITS\.md|bench\/(?:NOTES\.md|charts\/loopback\.svg))$/,
  ];
  const odd = files.filter((file) => !expected.some((pattern) => pattern.test(file)));
  assert.deepEqual(odd, []);
});

test('npm start builds only if something has changed since the last build that succeeded', () => {
  const clone = temporaryDirectory();
  for (const path of [
    '.ci/build.mjs',
    '.ci/prestart.mjs',
    'src',
    'tsconfig.json',
    'package.json',
    'package-lock.json',
  ]) {
    cpSync(join(root, path), join(clone, path), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  assert.match(manifest.scripts.prestart, /^node \.ci\/prestart\.mjs$/);
  const marker = join(clone, 'dist/marker');
  /** Returns whether the folder of the build was made again. */
  const builds = (): boolean => {
    writeFileSync(marker, '');
    run(process.execPath, ['.ci/prestart.mjs'], clone);
    return !existsSync(marker);
  };

  run(process.execPath, ['.ci/prestart.mjs'], clone);
  assert.ok(existsSync(join(clone, 'dist/program/main.js')));
  assert.ok(!builds());
  const added = join(clone, 'src/added.ts');
  writeFileSync(added, 'export const added = true;\n');
  assert.ok(builds(), 'after a file was added');
  assert.ok(existsSync(join(clone, 'dist/added.js')));
  rmSync(added);
  assert.ok(builds(), 'after a file was removed');
  assert.ok(!builds());
  writeFileSync(added, 'export const added: string = true;\n');
  for (let n = 0; n < 2; n++) assert.throws(builds, /prestart/, 'a build that failed is repeated');
});
