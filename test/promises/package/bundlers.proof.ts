import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { createProject, packInto, run } from '../../support/outer-environment.js';
import { root } from '../../support/root.js';
import { temporaryDirectory, temporaryFile } from '../../support/temporary-file.js';

const tools = join(root, 'test/bundler-tools/node_modules');
const skip = existsSync(tools) ? false : 'the bundlers are not installed: npm ci --prefix test/bundler-tools';

/** A host that cancels an order in a file, and then starts a server with a documentation page. */
const HOST = `
  import { createMemoryLimiter, createMemoryOrderStore } from 'store-orders';
  import { createOrderServer } from 'store-orders/server';
  import { openSqliteOrderStore } from 'store-orders/sqlite';
  const say = (error) => console.log(error.message);
  async function cancel() {
    const store = openSqliteOrderStore(process.argv[2]);
    await store.put([{ id: 1 }], { replace: true });
    console.log(await store.cancel(1n));
    await store.close();
  }
  async function serve() {
    const authenticate = () => undefined;
    createOrderServer({ store: createMemoryOrderStore([]), limiter: createMemoryLimiter(), authenticate });
    console.log('created');
  }
  cancel().catch(say).then(serve).catch(say).then(() => process.exit());`;

interface Bundler {
  /** Bundles host.mjs into out/main.cjs or out/main.mjs. SETTING stands for the setting. */
  readonly build: string;
  /** The setting that leaves store-orders out of the bundle, as examples/README.md has it. */
  readonly setting: string;
  /** What the host prints without the setting. */
  readonly bundled: readonly RegExp[];
}

const esbuild = (format: string) => `await (await import('esbuild')).build({ entryPoints: ['host.mjs'],
  bundle: true, platform: 'node', format: '${format}', outfile: 'out/main.${format === 'esm' ? 'mjs' : 'cjs'}', SETTING });`;
const NO_THREAD =
  /order-store-worker\.js'; if the program is bundled, leave store-orders out of the bundle: see "Bundlers" in /;
const NO_PAGE = /^the files of the documentation page are missing; if the program is bundled, leave store-orders out /;

const BUNDLERS: Readonly<Record<string, Bundler>> = {
  'esbuild (ES module)': {
    build: esbuild('esm'),
    setting: "external: ['store-orders']",
    bundled: [NO_THREAD, NO_PAGE],
  },
  'esbuild (CommonJS)': {
    build: esbuild('cjs'),
    setting: "external: ['store-orders']",
    bundled: [/: its thread cannot be started; if the program is bundled, leave store-orders out /, NO_PAGE],
  },
  'webpack 5': {
    build: `const { default: webpack } = await import('webpack');
      await new Promise((resolve) => webpack({ mode: 'production', target: 'node', entry: './host.mjs',
        output: { path: process.cwd() + '/out', filename: 'main.cjs' }, SETTING }, (error, stats) => {
          if (error || stats.hasWarnings() || stats.hasErrors()) throw error ?? stats.toString();
          resolve();
        }));`,
    setting: "externals: [/^store-orders/], externalsType: 'commonjs'",
    bundled: [/^cancelled$/, NO_PAGE],
  },
  'Vite (SSR)': {
    build: `await (await import('vite')).build({ logLevel: 'warn', ssr: { noExternal: true, SETTING },
      build: { ssr: 'host.mjs', rollupOptions: { output: { entryFileNames: 'main.mjs' } }, outDir: 'out' } });`,
    setting: "external: ['store-orders']",
    bundled: [NO_THREAD, NO_PAGE],
  },
  ncc: {
    build: `const { default: ncc } = await import('@vercel/ncc');
      const { code, assets } = await ncc(process.cwd() + '/host.mjs', { quiet: true, SETTING });
      const { mkdirSync, writeFileSync } = await import('node:fs');
      mkdirSync('out', { recursive: true });
      for (const [name, { source }] of Object.entries(assets)) writeFileSync('out/' + name, source);
      writeFileSync('out/main.mjs', code);`,
    setting: "externals: ['store-orders', 'store-orders/server', 'store-orders/sqlite']",
    bundled: [
      /: its worker thread failed: Cannot find module .+; if the program is bundled, leave store-orders out /,
      NO_PAGE,
    ],
  },
};

const guide = readFileSync(join(root, 'examples/README.md'), 'utf8');

suite('a project that installs the packed package', { skip }, () => {
  let cwd: string;
  before(() => {
    const folder = temporaryDirectory();
    // Node.js also looks for imported packages in the parent folder of the project.
    symlinkSync(tools, join(folder, 'node_modules'));
    cwd = join(folder, 'project');
    createProject(cwd, 'module', packInto(folder));
    writeFileSync(join(cwd, 'host.mjs'), HOST);
    // The driver, if this Node.js has none.
    for (const name of ['libsql', '@libsql', '@neon-rs', 'detect-libc']) {
      symlinkSync(join(root, 'node_modules', name), join(cwd, 'node_modules', name));
    }
  });

  /** Returns what the host prints, bundled with this setting. */
  function linesOf(build: string, setting: string): readonly string[] {
    rmSync(join(cwd, 'out'), { recursive: true, force: true });
    writeFileSync(join(cwd, 'build.mjs'), build.replace('SETTING', setting));
    run(process.execPath, ['build.mjs'], cwd);
    // A bundle is often moved to where the package is not.
    const installed = join(cwd, 'node_modules/store-orders');
    if (setting === '') renameSync(installed, `${installed}-away`);
    const [main = ''] = readdirSync(join(cwd, 'out')).filter((name) => /^main\.[cm]js$/.test(name));
    const printed = run(process.execPath, ['--no-warnings', join('out', main), temporaryFile()], cwd);
    if (setting === '') renameSync(`${installed}-away`, installed);
    return printed.trim().split('\n');
  }

  for (const [name, { build, setting, bundled }] of Object.entries(BUNDLERS)) {
    test(`${name}: a host works with the setting of the guide, and otherwise says what to do`, () => {
      assert.ok(guide.includes(`| ${name.replace(/ \(.+/, '')} | \`${setting}\` |`), 'examples/README.md');
      assert.deepEqual(linesOf(build, setting), ['cancelled', 'created']);
      const lines = linesOf(build, '');
      assert.equal(lines.length, bundled.length, lines.join('\n'));
      for (const [index, line] of lines.entries()) assert.match(line, bundled[index] ?? /^$/);
    });
  }
});
