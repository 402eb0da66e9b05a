// A worker without a server. If its number is in FAIL, it cannot start. If its number is in UNCLEAN,
// it exits with 3 when it must drain.

const number = process.env['STORE_ORDERS_WORKER'] ?? '';
const isIn = (list) => (process.env[list] ?? '').includes(number);

process.on('SIGTERM', () => {});
process.on('message', (message) => {
  if (message === 'drain') process.exit(isIn('UNCLEAN') ? 3 : 0);
});
if (isIn('FAIL')) process.send?.({ failed: 'no room' });
else process.send?.({ listening: { url: `http://worker-${number}` } });
