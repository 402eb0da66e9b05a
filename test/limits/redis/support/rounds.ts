/**
 * The size of the tests: with 50, each takes some seconds. The figures in test/README.md were
 * measured with 200.
 */
export const ROUNDS = Number(process.env['STORE_ORDERS_ROUNDS'] ?? 50);

export const IS_FULL = ROUNDS >= 200;
