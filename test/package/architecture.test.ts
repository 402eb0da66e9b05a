import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'node:test';
import { root } from '../support/root.js';

const MOST_FILES = 15;

/**
 * Each folder of `src`, with the folders and the single files that its files may import from. Those
 * must be in the rows above it, or in the same top-level folder. An `index.ts` and the
 * program's `main.ts` may also import from the folders inside their own folder. Every file may
 * import `check.ts` and `commits.ts`.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'databases/postgres': [],
  'databases/sqlite': [],
  orders: [],
  'orders/memory': ['orders'],
  'orders/postgres': ['databases/postgres', 'orders'],
  'orders/sqlite': ['databases/sqlite', 'orders'],
  limits: [],
  'limits/memory': ['limits'],
  'limits/redis': ['limits', 'limits/memory'],
  http: ['http/list', 'limits', 'orders'],
  'http/list': ['http', 'orders'],
  'http/mounts': ['http'],
  'http/guard': ['http', 'http/mounts'],
  'http/openapi': ['http', 'limits', 'orders'],
  testing: ['http', 'http/mounts', 'limits', 'orders', 'testing/audits', 'testing/suites'],
  'testing/suites': ['limits', 'orders'],
  'testing/audits': ['limits', 'orders', 'testing/suites'],
  server: [],
  'server/log': ['http', 'orders'],
  'server/config': ['orders', 'server'],
  'server/docs/browser': ['orders', 'server/docs'],
  'server/docs': ['http', 'http/list', 'http/openapi', 'limits'],
  'server/keys': ['databases/postgres', 'databases/sqlite', 'http', 'limits', 'orders/sqlite'],
  'server/listener': [
    'http/index.ts',
    'http/front-door.ts',
    'http/service.ts',
    'http/client-address.ts',
    'http/route.ts',
    'http/mounts/node.ts',
    'server/config',
    'server/docs',
  ],
  'server/metrics': ['http', 'http/mounts', 'limits/redis', 'server', 'server/listener', 'server/log'],
  'server/quotas': [
    'databases/sqlite',
    'http',
    'limits',
    'limits/memory',
    'limits/redis',
    'orders/sqlite',
    'server',
    'server/config',
    'server/listener',
    'server/log',
  ],
  'server/storage': [
    'databases/postgres',
    'databases/sqlite',
    'orders',
    'orders/postgres',
    'orders/sqlite',
    'server',
    'server/config',
    'server/keys',
    'server/listener',
    'server/log',
    'server/quotas',
  ],
  'server/process': [
    'http',
    'limits',
    'orders',
    'server',
    'server/config',
    'server/keys',
    'server/listener',
    'server/log',
    'server/metrics',
    'server/quotas',
    'server/storage',
  ],
  'server/cli/import': ['orders'],
  'server/cli': [
    'databases/sqlite',
    'http/openapi',
    'orders',
    'orders/sqlite',
    'server',
    'server/cli/import',
    'server/cli/quotas',
    'server/config',
    'server/keys',
    'server/log',
    'server/process',
    'server/quotas',
    'server/storage',
  ],
  'server/cli/quotas': [
    'server',
    'server/cli',
    'server/config',
    'server/keys',
    'server/log',
    'server/process',
    'server/quotas',
  ],
};

/** Returns the paths of all files below a folder, relative to the root of the project. */
function filesOf(folder: string): readonly string[] {
  return readdirSync(`${root}/${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isFile()) return [path];
    return entry.name === 'node_modules' || entry.name === 'generated' ? [] : filesOf(path);
  });
}

const files = ['src', 'test', 'bench'].flatMap(filesOf);
/** The files that each TypeScript file imports, including imports of types. */
const imports = new Map(
  files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => {
      const texts = readFileSync(`${root}/${file}`, 'utf8').matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
      const imported = [...texts].map(([, path = '']) => posix.join(posix.dirname(file), path).replace(/\.js$/, '.ts'));
      return [file, imported] as const;
    }),
);

function roomOf(file: string): string {
  return posix.dirname(file).replace(/^src\/?/, '');
}

test('each folder of src imports only from the folders that the table ALLOWED names for it', () => {
  const rooms = new Set([...imports.keys()].filter((file) => file.startsWith('src/')).map(roomOf));
  rooms.delete('');
  assert.deepEqual([...rooms].sort(), Object.keys(ALLOWED).sort(), 'ALLOWED has a row for every folder of src');
  const climbing: string[] = [];
  for (const [file, imported] of imports) {
    const room = roomOf(file);
    if (!file.startsWith('src/')) continue;
    const isFace = /\/(?:index|main)\.ts$/.test(file);
    for (const path of imported) {
      const isInside = path.startsWith(`${posix.dirname(file)}/`);
      if (
        path === 'src/check.ts' ||
        path === 'src/commits.ts' ||
        roomOf(path) === room ||
        ALLOWED[room]?.includes(roomOf(path)) ||
        ALLOWED[room]?.includes(path.replace(/^src\//, '')) ||
        (isFace && isInside)
      )
        continue;
      climbing.push(`${file} imports ${path}`);
    }
  }
  assert.deepEqual(climbing, []);
});

test('each row of the table ALLOWED names only folders of the rows above it, or folders of its own top-level folder', () => {
  const order = Object.keys(ALLOWED);
  for (const [room, allowed] of Object.entries(ALLOWED)) {
    const [house = ''] = room.split('/');
    const below = allowed.filter((other) => order.indexOf(other) > order.indexOf(room) && !other.startsWith(house));
    assert.deepEqual(below, [], room);
  }
  for (const [one, other] of [
    ['orders', 'limits'],
    ['limits', 'orders'],
  ] as const) {
    const rooms = order.filter((room) => room.startsWith(one));
    assert.ok(rooms.every((room) => ALLOWED[room]?.every((allowed) => !allowed.startsWith(other))));
  }
});

test('no file imports the index.ts of its own folder or of an enclosing folder', () => {
  for (const [file, imported] of imports) {
    const face = imported.find((path) => path.endsWith('/index.ts') && file.startsWith(`${posix.dirname(path)}/`));
    assert.equal(face, undefined, file);
  }
});

test('the memory limiter imports neither packages nor modules of Node.js', () => {
  for (const [file] of imports) {
    if (!file.startsWith('src/limits/') || file.startsWith('src/limits/redis/')) continue;
    assert.doesNotMatch(readFileSync(`${root}/${file}`, 'utf8'), /^import .*from '[^.]/m, file);
  }
});

test('there are no circular imports, not even of types', () => {
  assert.deepEqual(circles(imports), []);
  const loop = new Map([
    ['a', ['b']],
    ['b', ['c']],
    ['c', ['b']],
  ]);
  assert.deepEqual(circles(loop), ['b → c → b'], 'the circular import is found');
});

test(`no folder has more than ${MOST_FILES} files`, () => {
  const counts = new Map<string, number>();
  for (const file of files) counts.set(posix.dirname(file), (counts.get(posix.dirname(file)) ?? 0) + 1);
  const full = [...counts].filter(([, count]) => count > MOST_FILES).map(([folder, count]) => `${folder}: ${count}`);
  assert.deepEqual(full, []);
});

function circles(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const found: string[] = [];
  const finished = new Set<string>();
  const visit = (file: string, path: readonly string[]) => {
    const start = path.indexOf(file);
    if (start >= 0) found.push([...path.slice(start), file].join(' → '));
    if (start >= 0 || finished.has(file)) return;
    for (const imported of graph.get(file) ?? []) visit(imported, [...path, file]);
    finished.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return found;
}
