import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toolsFolder } from '../../../http/openapi/support/tools.js';
import { root } from '../../../support/root.js';

/** What the audits found in a host. */
export interface Audited {
  readonly name: string;
  /** The packages of the host. None: Node.js itself. */
  readonly packages: readonly string[];
  readonly passed: number;
  readonly audits: number;
  /** The ids of the audits that do not apply to the host. */
  readonly without: readonly string[];
}

const PAGE = join(root, 'test/AUDITS.md');

/**
 * Checks that the page of audited hosts has each host's row and, if all hosts ran, no other. With
 * `STORE_ORDERS_UPDATE=1`, writes the page first, unless a host cannot run here.
 */
export function checkPage(hosts: readonly Audited[], areAll: boolean): void {
  const rows = hosts.map(rowOf);
  if (areAll && process.env['STORE_ORDERS_UPDATE'] === '1') writeFileSync(PAGE, `${HEAD}${rows.join('\n')}\n`);
  const [, , ...listed] = readFileSync(PAGE, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '));
  const page = areAll ? listed : listed.filter((row) => rows.includes(row));
  assert.deepEqual(page, rows, 'test/AUDITS.md is not true; set STORE_ORDERS_UPDATE=1 to write it again');
}

function rowOf({ name, packages, passed, audits, without }: Audited): string {
  const versions = packages.map((name) => `${name} ${versionOf(name)}`).join(', ') || 'Node.js';
  const left = without.length === 0 ? '' : `; without ${without.join(', ')}`;
  return `| ${name} | ${versions} | ${passed} of ${audits}${left} |`;
}

function versionOf(name: string): string {
  const folders = [root, join(root, 'test/hosts'), toolsFolder].map((folder) => join(folder, 'node_modules', name));
  const folder = folders.find(existsSync);
  assert.ok(folder !== undefined, `${name} is not installed`);
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
}

const HEAD = `# Audited hosts

The audits of \`store-orders/testing\` are the specification, clause by clause. A proof mounts the
service in each of these hosts, and runs the audits from outside. It fails if a row here is not
true. This command wrote the page, with Node.js ${process.versions.node}:

\`\`\`sh
STORE_ORDERS_UPDATE=1 npm run test:proofs -- promises/hosts/audits
\`\`\`

[One command](../examples/audit.test.ts) runs the same audits over your own server.

| host | versions | audits passed |
| --- | --- | --- |
`;
