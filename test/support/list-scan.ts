/** Counts the orders and bytes of a list as it arrives, without keeping it. */
export function createListScan() {
  let rest = '';
  let orders = 0;
  let bytes = 0;
  let last = -1;
  let isAscending = true;
  return {
    add(chunk: Uint8Array) {
      bytes += chunk.length;
      rest += Buffer.from(chunk).toString('latin1');
      const end = rest.lastIndexOf('}') + 1;
      for (const [, id] of rest.slice(0, end).matchAll(/"id":(\d+)/g)) {
        orders++;
        isAscending &&= Number(id) > last;
        last = Number(id);
      }
      rest = rest.slice(end);
    },
    orders: () => orders,
    bytes: () => bytes,
    isAscending: () => isAscending,
  };
}
