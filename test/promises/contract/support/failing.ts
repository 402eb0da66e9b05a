import { beforeEach } from 'node:test';

/** The failure of a part of the host. Its message has secrets, and its stack names this file. */
export const failure = Object.assign(new Error('postgres://me:hunter2@db, key business-key\n    at hunter2'), {
  code: 'ECONNREFUSED',
});

export const fail = () => {
  throw failure;
};

/** The warnings that the process has emitted in the test that runs. */
export const warnings: Error[] = [];
process.on('warning', (warning) => warnings.push(warning));

/** Waits for the warnings that Node.js has still to emit. */
export const settled = () => new Promise(setImmediate);

beforeEach(async () => {
  await settled();
  warnings.length = 0;
});
