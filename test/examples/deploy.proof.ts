import assert from 'node:assert/strict';
import { type ChildProcessByStdio, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdirSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { freePort } from '../support/listen.js';
import { outerEnvironment } from '../support/outer-environment.js';
import { root } from '../support/root.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { until } from '../support/until.js';

const deploy = join(root, 'examples/deploy');
const read = (name: string) => readFileSync(join(deploy, name), 'utf8');
const isRoot = process.getuid?.() === 0;
const canUnshare = isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0;

/** Returns the instructions of each stage of a Dockerfile, such as `['RUN', 'npm ci']`. */
function stagesOf(dockerfile: string): (readonly [name: string, rest: string])[][] {
  return dockerfile
    .split(/^FROM .*$/m)
    .slice(1)
    .map((stage) =>
      Array.from(stage.matchAll(/^([A-Z]+) (.+)$/gm), ([, name = '', rest = '']) => [name, rest] as const),
    );
}

/**
 * Builds the image as a folder, by the steps of its Dockerfile, with the Node.js of this machine.
 */
function unpackImage() {
  const place = temporaryDirectory();
  const image = join(place, 'image');
  const [, install = [], last = []] = stagesOf(read('Dockerfile'));
  const app = join(image, install.find(([name]) => name === 'WORKDIR')?.[1] ?? assert.fail('no WORKDIR'));
  mkdirSync(app, { recursive: true });
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', app], { cwd: root, env: outerEnvironment() });
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const hasSqlite = major > 22 || (major === 22 && minor >= 13);
  for (const [name, rest] of install) {
    if (name !== 'RUN') continue;
    // The Node.js of the real image contains a SQLite driver. An older Node.js here does not.
    const command = hasSqlite ? rest : rest.replace(' pg ', ' libsql pg ');
    execFileSync('sh', ['-c', command], {
      cwd: app,
      env: { ...outerEnvironment(), npm_config_prefer_offline: 'true' },
    });
  }
  const drivers = readdirSync(app, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('gnu/index.node'),
  );
  for (const file of [process.execPath, ...drivers.map((name) => join(app, name))]) {
    const libraries = execFileSync('ldd', [file], { encoding: 'utf8' }).match(/\/\S+(?= \()/g) ?? [];
    for (const library of libraries) cpSync(realpathSync(library), join(image, library));
  }
  mkdirSync(join(image, 'bin'));
  cpSync(realpathSync(process.execPath), join(image, 'bin/node'));
  const data = join(place, 'data');
  for (const folder of [data, join(image, 'data')]) {
    mkdirSync(folder);
    chownSync(folder, 1000, 1000);
  }
  const settings = last.filter(([name]) => name === 'ENV').flatMap(([, rest]) => rest.split(' '));
  const argumentsOf = (name: string): string[] => {
    const rest = last.find(([instruction]) => instruction === name)?.[1] ?? assert.fail(`no ${name}`);
    return JSON.parse(rest.slice(rest.indexOf('[')));
  };
  assert.deepEqual(last.find(([name]) => name === 'USER')?.[1], 'node', 'the image runs as the user with id 1000');
  /** Runs a command as docker does with `--read-only --cap-drop ALL --volume …:/data`. */
  const start = (command: readonly string[], env: Readonly<Record<string, string>>) => {
    const mounts = `mount --bind '${image}' '${image}' && mount --bind '${data}' '${image}/data' && mount -o remount,bind,ro '${image}'`;
    const run = `exec chroot --userspec=1000:1000 '${image}' /bin/node "$@"`;
    const assignments = Object.fromEntries(settings.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
    return spawn('unshare', ['--mount', 'sh', '-c', `${mounts} && ${run}`, 'sh', ...command.slice(1)], {
      // Without NODE_V8_COVERAGE here, Node.js would pass its own value to the child process, which
      // cannot write its coverage to the read-only image.
      env: { PATH: process.env['PATH'], NODE_V8_COVERAGE: '', ...assignments, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  };
  return {
    start,
    entryPoint: argumentsOf('ENTRYPOINT'),
    command: argumentsOf('CMD'),
    health: argumentsOf('HEALTHCHECK'),
  };
}

async function ended(child: ChildProcessByStdio<null, Readable, Readable>) {
  const [[code], ...texts] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
  return { code, text: texts.join('') };
}

test('the image runs unprivileged on a read-only file system, is healthy, and stops gracefully', {
  skip: !canUnshare && 'needs root and unshare, to mount the image',
}, async (t) => {
  const { start, entryPoint, command, health } = unpackImage();
  const env = { PORT: `${await freePort()}`, HOST: '127.0.0.1' };
  const server = start([...entryPoint, ...command], env);
  t.after(() => server.kill('SIGKILL'));
  const result = ended(server);
  const isHealthy = async () => (await ended(start(health, env))).code === 0;
  await until(async () => server.exitCode !== null || (await isHealthy()), 60_000);
  if (server.exitCode !== null) assert.fail((await result).text);
  const created = await ended(start([...entryPoint, 'keys', 'create', '--plan', 'pro', '--json'], env));
  assert.equal(created.code, 0, created.text);
  const headers = { authorization: `Bearer ${JSON.parse(created.text).key}` };
  const list = await fetch(`http://127.0.0.1:${env.PORT}/v1/store/orders`, { headers });
  assert.deepEqual([list.status, await list.json()], [200, []]);

  const script = `console.log(process.getuid()); require('node:fs').writeFileSync('/app/x', '')`;
  const writing = await ended(start(['node', '-e', script], env));
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
  const args = [join(root, 'dist/server/main.js'), 'serve', '--help'];
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
  assert.equal(container.livenessProbe.httpGet.path, '/healthz');
  assert.equal(container.readinessProbe.httpGet.path, '/readyz');
});
