import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';

const root = new URL('../../', import.meta.url);
const snapshot = new URL('surface.txt', import.meta.url);
const UPDATE = 'STORE_ORDERS_UPDATE=1 node --import tsx --test test/package/surface.test.ts';

/** Returns the names that a declaration file exports, types included. */
function exportedNames(file: URL): readonly string[] {
  const text = readFileSync(file, 'utf8');
  const beside = (path = '') => new URL(path.replace(/\.js$/, '.d.ts'), file);
  const declared = text.matchAll(
    /^export (?:declare )?(?:abstract )?(?:async )?(?:function|const|let|class|interface|type|enum|namespace) (\w+)/gm,
  );
  const listed = text.matchAll(/^export (?:type )?\{([^}]*)\}/gm);
  const starred = text.matchAll(/^export \* from '(\.[^']+)';/gm);
  return [
    ...[...declared].map(([, name = '']) => name),
    ...[...listed].flatMap(([, names = '']) =>
      names
        .split(',')
        .map((name) => name.trim().split(/\s/).at(-1) ?? '')
        .filter((name) => name !== ''),
    ),
    ...[...starred].flatMap(([, path]) => exportedNames(beside(path))),
  ];
}

function kindOf(value: unknown): string {
  if (typeof value !== 'function') return Array.isArray(value) ? 'array' : typeof value;
  return /^class\b/.test(Function.prototype.toString.call(value)) ? 'class' : 'function';
}

async function printSurface(): Promise<string> {
  const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  const parts: string[] = [];
  for (const [subpath, target] of Object.entries<string>(exports)) {
    if (!target.endsWith('.js')) continue;
    const specifier = subpath.replace('.', 'store-orders');
    const values: Readonly<Record<string, unknown>> = await import(specifier);
    const types = new Set(exportedNames(new URL(target.replace(/\.js$/, '.d.ts'), root)));
    for (const name of Object.keys(values)) assert.ok(types.delete(name), `${specifier}: ${name} has no declaration`);
    const lines = [
      ...Object.entries(values).map(([name, value]) => `${kindOf(value)} ${name}`),
      ...[...types].map((name) => `type ${name}`),
    ];
    parts.push(
      `${specifier}\n${lines
        .sort()
        .map((line) => `  ${line}\n`)
        .join('')}`,
    );
  }
  return parts.join('\n');
}

test('surface.txt lists exactly what the package exports', async () => {
  const surface = await printSurface();
  if (process.env['STORE_ORDERS_UPDATE'] === '1') writeFileSync(snapshot, surface);
  assert.equal(
    surface,
    readFileSync(snapshot, 'utf8'),
    `the public names have changed. If that is intended, run\n  ${UPDATE}\nand let the difference be reviewed`,
  );
});

test("TypeScript's moduleResolution node10, which ignores the exports of package.json, finds the types of each subpath", () => {
  const { exports, types, typesVersions } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  const found = { '.': types, ...prefixed(typesVersions['*']) };
  const told = Object.entries<string>(exports).filter(([, target]) => target.endsWith('.js'));
  assert.deepEqual(found, Object.fromEntries(told.map(([path, target]) => [path, target.replace(/\.js$/, '.d.ts')])));
});

function prefixed(paths: Readonly<Record<string, readonly string[]>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(paths).map(([path, files]) => [`./${path}`, `./${files}`]));
}
