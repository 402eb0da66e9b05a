/**
 * Sets the length of the random tests. With 50, each test takes some seconds. The figures in
 * test/README.md were measured with 200.
 */
export const ROUNDS = Number(process.env['STORE_ORDERS_ROUNDS'] ?? 50);

export const IS_FULL = ROUNDS >= 200;
