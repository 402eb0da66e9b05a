import assert from 'node:assert/strict';
import { type ChildProcessByStdio, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { freePort } from '../../support/listen.js';
import { run } from '../../support/outer-environment.js';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { copyProject, runLines } from './support/places.js';

const deploy = join(root, 'examples/deploy');
const read = (name: string) => readFileSync(join(deploy, name), 'utf8');
const isRoot = process.getuid?.() === 0;
const canUnshare = isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0;

/** Returns what the pattern's group matches in the Dockerfile. */
function instruction(pattern: RegExp): string {
  return pattern.exec(read('Dockerfile'))?.[1] ?? assert.fail(`no ${pattern}`);
}

/** Packs the package into a folder by the first stage of the Dockerfile, without the files that Docker ignores. */
function packByDockerfile(folder: string): void {
  const source = temporaryDirectory();
  const lock = instruction(/^COPY (package\.json .+) \.\/$/m).split(' ');
  for (const file of lock) cpSync(join(root, file), join(source, file));
  runLines(instruction(/^RUN (npm ci .+)$/m), source);
  copyProject(source);
  const ignored = read('Dockerfile.dockerignore')
    .split('\n')
    .filter((path) => /^\w/.test(path));
  for (const path of ignored) rmSync(join(source, path), { recursive: true, force: true });
  runLines(`npm pack --pack-destination ${folder}`, source);
}

/** Builds the image as a folder, with this machine's Node.js and folders in place of its base. */
function unpackImage(environment: string) {
  const image = join(temporaryDirectory(), 'image');
  const data = temporaryDirectory();
  chownSync(data, 1000, 1000);
  const base = ['usr', 'lib', 'lib64'].filter((folder) => existsSync(`/${folder}`));
  for (const folder of ['app', 'bin', 'data', ...base]) mkdirSync(join(image, folder), { recursive: true });
  cpSync(realpathSync(process.execPath), join(image, 'bin/node'));
  packByDockerfile(join(image, 'app'));
  const install = instruction(/^RUN (npm install .+)$/m);
  // The Node.js of the real image contains a SQLite driver. An older Node.js here does not.
  const command = isBuiltin('node:sqlite') ? install : install.replace(' pg ', ' libsql pg ');
  run('sh', ['-c', `npm_config_prefer_offline=true ${command}`], join(image, 'app'));
  assert.equal(instruction(/^USER (.+)$/m), '1000:1000', 'runAsNonRoot of Kubernetes refuses a name');

  const script = [
    `mount --bind '${image}' '${image}'`,
    `mount --bind '${data}' '${image}/data'`,
    ...base.map((folder) => `mount -o bind,ro /${folder} '${image}/${folder}'`),
    `mount -o remount,bind,ro '${image}'`,
    `exec env ${instruction(/^ENV (.+)$/m)} ${environment} chroot --userspec=1000:1000 '${image}' /bin/node "$@"`,
  ].join(' && ');
  return {
    /** Runs a command as docker does with `--read-only --cap-drop ALL --volume …:/data`. */
    start: (command: readonly string[]) =>
      spawn('unshare', ['--mount', 'sh', '-c', script, ...command], {
        // Without NODE_V8_COVERAGE here, Node.js would pass its own value to the child process, which
        // cannot write its coverage to the read-only image.
        env: { PATH: process.env['PATH'], NODE_V8_COVERAGE: '' },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    entryPoint: JSON.parse(instruction(/^ENTRYPOINT (.+)$/m)),
    command: JSON.parse(instruction(/^CMD (.+)$/m)),
    health: JSON.parse(instruction(/^HEALTHCHECK .*CMD (.+)$/m)),
  };
}

async function ended(child: ChildProcessByStdio<null, Readable, Readable>) {
  const [[code], ...texts] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
  return { code, text: texts.join('') };
}

test('the image runs unprivileged on a read-only file system, is healthy, and stops gracefully', {
  skip: !canUnshare && 'needs root and unshare, to mount the image',
}, async (t) => {
  const port = await freePort();
  const { start, entryPoint, command, health } = unpackImage(`HOST=127.0.0.1 PORT=${port}`);
  const server = start([...entryPoint, ...command]);
  t.after(() => server.kill('SIGKILL'));
  const result = ended(server);
  const isHealthy = async () => (await ended(start(health))).code === 0;
  await until(async () => server.exitCode !== null || (await isHealthy()), 60_000);
  if (server.exitCode !== null) assert.fail((await result).text);
  const created = await ended(start([...entryPoint, 'keys', 'create', '--plan', 'pro', '--json']));
  assert.equal(created.code, 0, created.text);
  const headers = { authorization: `Bearer ${JSON.parse(created.text).key}` };
  const list = await fetch(`http://127.0.0.1:${port}/v1/store/orders`, { headers });
  assert.deepEqual([list.status, await list.json()], [200, []]);

  const script = `console.log(process.getuid()); require('node:fs').writeFileSync('/app/x', '')`;
  const writing = await ended(start(['node', '-e', script]));
  assert.match(writing.text, /^1000\n[\s\S]*EROFS/);

  server.kill('SIGTERM');
  assert.equal((await result).code, 0);
  assert.equal(await isHealthy(), false);
});

test('systemd-analyze finds the unit valid, and its exposure level below 2', {
  skip: spawnSync('systemd-analyze', ['--version']).error !== undefined && 'needs systemd-analyze',
}, () => {
  const unit = join(deploy, 'store-orders.service');
  const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  assert.deepEqual([verified.status, verified.stderr], [0, '']);
  const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit], {
    encoding: 'utf8',
  });
  assert.match(stdout, /Overall exposure level for store-orders\.service: [01]\.\d /);
});

test('the deployment files use only settings and probe only paths that the server knows', () => {
  const args = [join(root, 'dist/program/main.js'), 'serve', '--help'];
  const help = execFileSync(process.execPath, args, { encoding: 'utf8' });
  const compose = parse(read('compose.yaml'));
  const [deployment] = parseAllDocuments(read('kubernetes.yaml')).map((document) => document.toJS());
  const [container] = deployment.spec.template.spec.containers;
  const named = [
    ...Object.keys(compose.services.orders.environment),
    ...container.env.map(({ name }: { readonly name: string }) => name),
    ...((read('Dockerfile') + read('store-orders.service')).match(/\bSTORE_ORDERS_\w+(?==)/g) ?? []),
  ];
  assert.deepEqual(
    named.filter((name) => !help.includes(`[env: ${name}]`)),
    [],
  );
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const image = `store-orders:${version}`;
  assert.deepEqual([container.image, compose.services.orders.image], [image, image]);
  assert.match(read('Dockerfile'), new RegExp(`docker build .+ --tag ${image} \\.\n`));
  assert.equal(container.livenessProbe.httpGet.path, '/healthz');
  assert.equal(container.readinessProbe.httpGet.path, '/readyz');
});
