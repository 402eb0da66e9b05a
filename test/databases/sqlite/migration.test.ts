import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrate } from '../../../dist/databases/sqlite/migration.js';
import { sqliteDrivers } from '../../orders/sqlite/support/drivers.js';
import { temporaryFile } from '../../support/temporary-file.js';

for (const { name, open } of sqliteDrivers) {
  test(`under ${name}, a command refuses an older file at once, even while another process has its lock`, () => {
    const file = temporaryFile();
    const server = open(file);
    migrate(server, { items: ['CREATE TABLE items (id)'] });
    server.exec('BEGIN IMMEDIATE');
    const command = open(file);
    const newer = { items: ['CREATE TABLE items (id)', 'ALTER TABLE items ADD name'] };
    assert.throws(() => migrate(command, newer, true), /items schema has version 1, .+ start its server/);
    command.close();
    server.close();
  });
}
