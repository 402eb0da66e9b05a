import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const src = new URL('../../src/', import.meta.url);

/** Which rooms a room may import from. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  databases: [],
  orders: ['databases'],
  limits: [],
  http: ['orders', 'limits'],
  server: ['http', 'orders', 'limits', 'databases'],
  testing: ['http', 'orders', 'limits'],
};

test('imports go in one direction, and orders and limits never import each other', () => {
  const rooms = readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  assert.deepEqual(rooms.map((room) => room.name).sort(), Object.keys(ALLOWED).sort());
  for (const { name: room } of rooms) {
    for (const file of readdirSync(new URL(`${room}/`, src), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      const text = readFileSync(new URL(`${room}/${file}`, src), 'utf8');
      for (const [, path = ''] of text.matchAll(/from '(\.[^']+)'/g)) {
        const [imported = ''] = relative(
          fileURLToPath(src),
          join(fileURLToPath(new URL(room, src)), file, '..', path),
        ).split('/');
        assert.ok(
          imported === room || ALLOWED[room]?.includes(imported),
          `src/${room}/${file} imports from ${imported}`,
        );
      }
    }
  }
});
