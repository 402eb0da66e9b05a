import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createOpenApiDocument } from 'store-orders/openapi';

test('the table of src/http/README.md lists every error code with its status, and no other code', () => {
  const page = readFileSync(new URL('../../src/http/README.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (\d{3}) \| `(\w+)` \|/gm)].map(([, status, code]) => `${status} ${code}`);
  const { components, 'x-responses-elsewhere': elsewhere } = createOpenApiDocument();
  const documented = [...Object.values(components.responses), ...Object.values(elsewhere)].flatMap(({ content }) =>
    Object.values(content?.['application/json'].examples ?? {}).flatMap(({ value }) => {
      const { status, code }: { status?: unknown; code?: unknown } = Object(value);
      return status === undefined ? [] : [`${status} ${code}`];
    }),
  );
  assert.deepEqual(rows.toSorted(), documented.toSorted());
  assert.equal(rows.length, 19);
});
