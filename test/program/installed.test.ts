import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ifInstalled } from '../../dist/program/installed.js';

test('only a missing package is reported with what to install, not an error in the package', async () => {
  const absent: string = 'store-orders-absent';
  const message = 'The driver is not installed; run "npm install driver"';
  await assert.rejects(ifInstalled(import(absent), 'The driver', 'driver'), { message });
  const broken = new Error('broken');
  await assert.rejects(ifInstalled(Promise.reject(broken), 'The driver', 'driver'), broken);
});
