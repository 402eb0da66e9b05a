import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { test } from 'node:test';
import { SETTING_NAMES } from '../../../dist/program/settings/settings.js';
import { filesOf, root } from '../../support/root.js';

const MOST_FILES = 15;
const MOST_LINES = 250;

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

function moduleOf(room: string): string {
  return room.split('/')[0] ?? '';
}

/** A folder of `src`, as the table of folders in src/README.md has it. */
interface Folder {
  readonly name: string;
  /** The other modules from which its files may import. */
  readonly modules: readonly string[];
}

const FOLDERS = [
  ...readFileSync(`${root}/src/README.md`, 'utf8').matchAll(/^\| (`[a-z/`, ]+) \| ([^|]+) \|$/gm),
].flatMap(([, folders, modules]) => namesIn(folders).map((name): Folder => ({ name, modules: namesIn(modules) })));

function namesIn(text = ''): readonly string[] {
  return [...text.matchAll(/`([a-z/]+)`/g)].map(([, name = '']) => name);
}

function mayImport(file: string, path: string): boolean {
  if (posix.dirname(path) === 'src') return true;
  if (/\/(?:index|main)\.ts$/.test(file) && path.startsWith(`${posix.dirname(file)}/`)) return true;
  const [room, other] = [roomOf(file), roomOf(path)];
  if (room === other) return true;
  const place = FOLDERS.findIndex(({ name }) => name === room);
  return moduleOf(room) === moduleOf(other)
    ? FOLDERS.findIndex(({ name }) => name === other) < place
    : FOLDERS[place]?.modules.includes(moduleOf(other)) === true;
}

test('imports of src only go down, as the table of src/README.md says', () => {
  const own = [...imports].filter(([file]) => file.startsWith('src/'));
  const rooms = new Set(own.map(([file]) => roomOf(file)));
  rooms.delete('');
  const listed = FOLDERS.map(({ name }) => name);
  assert.deepEqual(
    [...rooms].filter((room) => !listed.includes(room)),
    [],
    'the table lacks these folders of src',
  );
  assert.deepEqual(
    listed.filter((name) => !rooms.has(name)),
    [],
    'src does not have these folders of the table',
  );
  const climbing = own.flatMap(([file, imported]) =>
    imported.filter((path) => !mayImport(file, path)).map((path) => `${file} imports ${path}`),
  );
  assert.deepEqual(climbing, []);
});

test('a test outside of promises lives where the file or folder of src lives that it tests', () => {
  const misplaced = files
    .filter((file) => /^test\/(?!promises\/).*\.(?:test|proof)\.ts$/.test(file))
    .filter((file) => {
      const tested = file.replace(/^test/, 'src').replace(/\.(?:test|proof)\.ts$/, '');
      return !files.some((path) => path === `${tested}.ts` || path.startsWith(`${tested}/`));
    });
  assert.deepEqual(misplaced, [], 'neither a file nor a folder of src has this path; see test/README.md');
});

test('a test imports what is public by its public name, the rest from dist, of its own module or one below, and nothing from src', () => {
  const names = readFileSync(`${root}/test/snapshots/surface.txt`, 'utf8').matchAll(/^ {2}\w+ (\w+)$/gm);
  const publicNames = new Set([...names].map(([, name]) => name));
  const modulesOf = (module: string) => [
    // The audits are made for tests of any part.
    ...[module, 'testing'],
    ...FOLDERS.filter(({ name }) => moduleOf(name) === module).flatMap(({ modules }) => modules),
  ];
  const mistakes = files
    .filter((file) => /^test\/.*\.ts$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(`${root}/${file}`, 'utf8');
      const [, module = ''] = file.split('/');
      return [...text.matchAll(/^import (?:type )?\{([^}]*)\} from '(?:\.\.\/)+(src|dist)\/([^']+)';/gm)]
        .filter(
          ([, imported = '', from, path = '']) =>
            from === 'src' ||
            imported.match(/\w+/g)?.some((name) => publicNames.has(name)) === true ||
            !(module === 'promises' || !path.includes('/') || modulesOf(module).includes(moduleOf(path))),
        )
        .map(([line]) => `${file}: ${line}`);
    });
  assert.deepEqual(mistakes, []);
});

/** Returns the files that are loaded when one file is imported statically, and that file itself. */
function loadedBy(...entries: readonly string[]): ReadonlySet<string> {
  const loaded = new Set(entries);
  for (const file of loaded) {
    const text = readFileSync(`${root}/${file}`, 'utf8');
    for (const [, path = ''] of text.matchAll(/^(?:import|export) (?!type)[^;']*from '(\.[^']+)';/gm)) {
      loaded.add(posix.join(posix.dirname(file), path).replace(/\.js$/, '.ts'));
    }
  }
  return loaded;
}

for (const [entry, file] of [
  ['src/limits/index.ts', 'src/limits/memory/bucket-pool.ts'],
  ['src/orders/exact-json.ts', 'src/orders/fields.ts'],
] as const) {
  test(`${entry} loads neither packages nor modules of Node.js, so a browser can load it`, () => {
    const loaded = loadedBy(entry);
    assert.ok(loaded.has(file), 'follows imports');
    for (const path of loaded) {
      const text = readFileSync(`${root}/${path}`, 'utf8');
      assert.doesNotMatch(text, /^(?:import|export) (?!type)(?:[^;']* from )?'[^.]|\b(?:process|Buffer)\.\w/m, path);
    }
  });
}

/** What `server` and `program` import of the library although no entry exports it, and why. */
const PRIVATE_IMPORTS = [
  // What Node.js does not document is used in one file.
  ['server/connections', 'http/mounts/node-internals'],
  ['server/give-way', 'http/mounts/node-internals'],
  // The same warning as in the Node mount, with another cure.
  ['server/server', 'http/mounts/warnings'],
  // The names of the options of a service, in the message about an unknown one.
  ['server/server', 'http/service/service'],
  // The entry would delay the thread that opens the file.
  ['program/keys/key-plan', 'limits/plan'],
  // The columns of tables on the terminal and of CSV, with their types.
  ['program/commands/orders', 'orders/fields'],
  ['program/commands/import/csv', 'orders/fields'],
  // A log line is ASCII, as a list is.
  ['program/log/log', 'orders/json'],
] as const;

test('server and program import the library by its entries, by databases and by two engine rooms, with eight exceptions', () => {
  const { exports } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
  const entries = Object.values<string>(exports).map((path) => path.replace(/^\.\/dist\/(.+)\.js$/, 'src/$1.ts'));
  const rooms = ['orders/sqlite/engine', 'orders/postgres/engine'].map((room) => `src/${room}.ts`);
  const isPublic = (path: string) =>
    [...entries, ...rooms].includes(path) || /^src\/(?:databases\/|(?:check|message-of)\.ts$)/.test(path);
  const found = [...imports].flatMap(([file, imported]) => {
    const [, module = ''] = /^src\/(program|server)\//.exec(file) ?? [];
    const others =
      module === '' ? [] : imported.filter((path) => !path.startsWith(`src/${module}/`) && !isPublic(path));
    return others.map((path) => [file, path].map((name) => name.slice('src/'.length, -'.ts'.length)));
  });
  assert.deepEqual(found.sort(), PRIVATE_IMPORTS.map((pair) => [...pair]).sort());
  assert.ok(PRIVATE_IMPORTS.length <= 8);
});

test('the package has at most 128 public names, and its two shared files 160 lines', () => {
  const names = readFileSync(`${root}/test/snapshots/surface.txt`, 'utf8').matchAll(/^ {2}\w+ (\w+)$/gm);
  const { size } = new Set([...names].map(([, name]) => name));
  assert.ok(size > 100 && size <= 128, `${size} names`);
  const shared = files.filter((file) => /^src\/(?!index)[a-z-]+\.ts$/.test(file));
  const lines = shared.flatMap((file) => readFileSync(`${root}/${file}`, 'utf8').trimEnd().split('\n'));
  assert.ok(shared.length === 2 && lines.length <= 160, `${shared}: ${lines.length} lines`);
});

test('a host over a memory store loads no more files and lines than README.md says', () => {
  const loaded = [...loadedBy('src/index.ts')];
  const lines = loaded.flatMap((file) => readFileSync(`${root}/${file}`, 'utf8').trimEnd().split('\n'));
  const page = readFileSync(`${root}/README.md`, 'utf8');
  const [, mostFiles, mostLines = ''] = /at most (\d+) files and ([\d,]+) lines/.exec(page) ?? [];
  assert.ok(loaded.length > 20 && loaded.length <= Number(mostFiles), `${loaded.length} files`);
  assert.ok(lines.length <= Number(mostLines.replace(',', '')), `${lines.length} lines`);
});

test('src/README.md names every package that src imports, and the folders that import it', () => {
  const imported = new Map<string, Set<string>>();
  for (const file of files.filter((path) => path.startsWith('src/') && path.endsWith('.ts'))) {
    const text = readFileSync(`${root}/${file}`, 'utf8');
    for (const [, name = ''] of text.matchAll(/(?:^import (?!type)[^;']*|\bimport\()'([^.'][^']*)'/gm)) {
      if (!isBuiltin(name)) imported.set(name, (imported.get(name) ?? new Set()).add(roomOf(file)));
    }
  }
  const page = readFileSync(`${root}/src/README.md`, 'utf8');
  const rows = [...page.matchAll(/^\| `([a-z-]+)`(?:, optional)? \| [^|]+ \| ([^|]+) \|/gm)];
  const stated = rows.map(([, name, folders = '']) => [name, folders.match(/[a-z/]{3,}/g)?.sort()]);
  assert.deepEqual(stated.sort(), [...imported].map(([name, folders]) => [name, [...folders].sort()]).sort());
});

/** Parts of the program that a server does not need before it responds to its first request. */
const LAZY =
  /^src\/(?:server\/docs\/page|program\/(?:serve\/metrics\.|commands\/(?:orders|keys|db|quotas))|http\/openapi|.*(?:postgres|redis)\/)/;

test('a start of the server loads no modules of other commands, of other backends or of the documentation', () => {
  const loaded = loadedBy('src/program/main.ts', 'src/program/commands/serve.ts', 'src/program/serve/run-server.ts');
  assert.ok(loaded.has('src/orders/sqlite/store.ts'), 'follows imports');
  assert.deepEqual(
    [...loaded].filter((file) => LAZY.test(file)),
    [],
  );
});

test('the program reads each setting', () => {
  const readers = files.filter((file) => /^src\/program\/(?!settings\/).*\.ts$/.test(file));
  const texts = readers.map((file) => readFileSync(`${root}/${file}`, 'utf8')).join('\n');
  const unread = SETTING_NAMES.filter((name) => !new RegExp(`\\b${name}\\b`).test(texts));
  assert.deepEqual(unread, [], 'no file outside of src/program/settings reads this setting');
});

test('there are no circular imports, not even of types', () => {
  const left = new Set(imports.keys());
  const imported = (file: string) => [...left].some((other) => imports.get(other)?.includes(file));
  const importing = (file: string) => imports.get(file)?.some((path) => left.has(path));
  // Takes away files that no file left imports, or that import none, until only circles are left.
  for (let before = 0; before !== left.size; ) {
    before = left.size;
    for (const file of left) if (!importing(file) || !imported(file)) left.delete(file);
  }
  assert.deepEqual([...left], []);
});

test(`no folder has more than ${MOST_FILES} files, and no file of code more than ${MOST_LINES} lines`, () => {
  const counts: Record<string, number> = {};
  for (const file of files) counts[posix.dirname(file)] = (counts[posix.dirname(file)] ?? 0) + 1;
  const full = Object.entries(counts).filter(([, count]) => count > MOST_FILES);
  assert.deepEqual(full, []);
  const linesOf = (file: string) => readFileSync(`${root}/${file}`, 'utf8').trimEnd().split('\n').length;
  assert.deepEqual(
    files.filter((file) => /\.m?[jt]s$/.test(file) && linesOf(file) > MOST_LINES),
    [],
  );
});
