/** How much of each test is done: 50 takes some seconds, 200 is what the figures in test/README.md were measured with. */
export const ROUNDS = Number(process.env['STORE_ORDERS_ROUNDS'] ?? 50);

export const IS_FULL = ROUNDS >= 200;
