import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkSnapshot } from '../../support/snapshot.js';

const root = new URL('../../../', import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
/** The subpaths with code, each with its file of declarations. */
const declarations = Object.entries<string>(exports)
  .filter(([, file]) => file.endsWith('.js'))
  .map(([subpath, file]) => [subpath, file.replace(/\.js$/, '.d.ts')] as const);

/** Returns the names that a declaration file exports, types included. */
function exportedNames(file: URL): readonly string[] {
  const text = readFileSync(file, 'utf8');
  const declared = text.matchAll(/^export (?:declare )?(?:async )?(?:function|const|class|interface|type) (\w+)/gm);
  const listed = text.matchAll(/^export (?:type )?\{([^}]*)\}/gm);
  const starred = text.matchAll(/^export \* from '(\.[^']+)\.js';/gm);
  return [
    ...[...declared].map(([, name = '']) => name),
    ...[...listed].flatMap(([, names = '']) => names.match(/\w+(?=\s*(?:,|$))/g) ?? []),
    ...[...starred].flatMap(([, path]) => exportedNames(new URL(`${path}.d.ts`, file))),
  ];
}

test('surface.txt lists exactly what the package exports', async () => {
  const parts: string[] = [];
  for (const [subpath, file] of declarations) {
    const specifier = subpath.replace('.', 'store-orders');
    const values: Readonly<Record<string, unknown>> = await import(specifier);
    const names = exportedNames(new URL(file, root));
    for (const name of Object.keys(values)) assert.ok(names.includes(name), `${specifier}: ${name} has no declaration`);
    const lines = names.map((name) => `  ${name in values ? typeof values[name] : 'type'} ${name}\n`);
    parts.push(`${specifier}\n${lines.sort().join('')}`);
  }
  checkSnapshot('surface.txt', parts.join('\n'));
});
