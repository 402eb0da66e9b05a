import fc from 'fast-check';
import { parseOrderRecord } from 'store-orders/store';

const twoDigits = (max: number) => fc.nat(max).map((number) => String(number).padStart(2, '0'));

/** Texts, each with some parts replaced, inserted or removed. */
function changed(texts: readonly string[], parts: readonly string[]): fc.Arbitrary<string> {
  const change = fc.record({ at: fc.nat(65), removes: fc.nat(2), part: fc.constantFrom('', ...parts) });
  return fc.tuple(fc.constantFrom(...texts), fc.array(change, { maxLength: 3 })).map(([text, changes]) =>
    changes.reduce((changing, { at, removes, part }) => {
      return changing.slice(0, at) + part + changing.slice(at + removes);
    }, text),
  );
}

export const DATE_TIMES = fc.oneof(
  fc
    .record({
      year: fc.constantFrom('0000', '0400', '1900', '2000', '2023', '2024'),
      day: fc.oneof(fc.constant(['02', '29']), fc.tuple(twoDigits(13), twoDigits(32))),
      time: fc.oneof(fc.constant(['23', '59', '60']), fc.tuple(twoDigits(24), twoDigits(60), twoDigits(60))),
      decimals: fc.constantFrom('', '', '.', '.5', `.${'1'.repeat(38)}`, `.${'1'.repeat(39)}`),
      zone: fc.constantFrom('Z', 'Z', 'z', '', '+23:59', '-24:00', '+00:60'),
    })
    .map(({ year, day, time, decimals, zone }) => `${year}-${day.join('-')}T${time.join(':')}${decimals}${zone}`),
  changed(
    ['2024-02-29T23:59:60Z', '2023-12-31t00:00:00.1234567890z', '1900-02-28T12:30:59.5-23:59'],
    [...'0123456789TtZz:.+- \0é٣', '60', '24', '+00:00'],
  ),
);

export const QUANTITIES = fc.constantFrom(
  ...[2n ** 53n - 1n, 2n ** 53n, 2n ** 62n].flatMap((quantity) => [quantity, -quantity]),
);

export const STATUSES = changed(['pending', 'a', 'on_hold', 'a'.repeat(64)], [...'azAZ09_- \0é', 'a'.repeat(63)]);

/** Reports whether an import accepts an order with these fields. */
export function isValid(fields: object): boolean {
  return !('mistake' in parseOrderRecord({ id: 1n, ...fields }));
}
