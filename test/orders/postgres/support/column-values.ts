const TIMES = {
  '0044-03-15 BC': undefined,
  '4713-01-01 BC': undefined,
  '10000-01-02': undefined,
  '294275-01-01': undefined,
  infinity: undefined,
  '-infinity': undefined,
};
const INTEGERS = { '2': 2, '2.5': undefined, NaN: undefined, '1e30': undefined };
const WHOLE = { '0': 0, '-3': -3, '30000': 30_000 };
const NO_NUMBERS = {
  '': undefined,
  two: undefined,
  '0x1F': undefined,
  '1_0': undefined,
  '--1': undefined,
  e1: undefined,
};
const BITS = { '0': false, '1': true, '2': undefined, '-1': undefined };

/** For each field and type of column of a mapped table: values, and what is listed for them. */
export const COLUMN_VALUES: readonly (readonly [
  field: string,
  type: string,
  values: Readonly<Record<string, unknown>>,
])[] = [
  ['shipDate', 'date', { '2026-02-03': '2026-02-03T00:00:00Z', '9999-12-31': '9999-12-31T00:00:00Z', ...TIMES }],
  ['shipDate', 'timestamp', { '2026-02-03T04:05:06': '2026-02-03T04:05:06Z', ...TIMES }],
  ...['timestamptz', 'moment'].map(
    (type) =>
      [
        'shipDate',
        type,
        {
          '2026-02-03T04:05:06.5+09': '2026-02-02T19:05:06.5Z',
          '1880-01-01T00:00:00Z': '1880-01-01T00:00:00Z',
          '0001-01-01T00:00:00Z': '0001-01-01T00:00:00Z',
          '9999-12-31T23:59:59Z': '9999-12-31T23:59:59Z',
          ...TIMES,
        },
      ] as const,
  ),
  ['shipDate', 'day', { '2026-02-03': '2026-02-03T00:00:00Z' }],
  [
    'shipDate',
    'text',
    {
      '2026-02-03T04:05:06.789z': '2026-02-03T04:05:06.789z',
      '2024-02-29T23:59:60Z': '2024-02-29T23:59:60Z',
      '2026-02-29T04:05:06Z': undefined,
      '2026-04-31T04:05:06Z': undefined,
      '2026-02-03T24:05:06Z': undefined,
      '2026-02-03 04:05:06Z': undefined,
      '2026-02-03T04:05:06Z\n': undefined,
      'im März, "bald" \\ \u{1f600}\u007f': undefined,
    },
  ],
  ['shipDate', 'integer', { '2026': undefined }],
  ['quantity', 'numeric', { ...INTEGERS, '9007199254740992': undefined, '-9007199254740992': undefined }],
  ['quantity', 'bigint', { ...WHOLE, '9007199254740991': 2 ** 53 - 1, '9007199254740992': undefined }],
  ['quantity', 'smallint', WHOLE],
  [
    'quantity',
    'float8',
    { ...INTEGERS, ...WHOLE, '-0.5': undefined, Infinity: undefined, '9007199254740992': undefined },
  ],
  ['quantity', 'real', { ...WHOLE, '16777216': 2 ** 24, '16777218': undefined }],
  [
    'quantity',
    'text',
    { ...INTEGERS, ...WHOLE, ...NO_NUMBERS, '1e3': 1_000, '2.0': 2, '1e999': undefined, '1e1000': undefined },
  ],
  ['quantity', 'boolean', { true: undefined, false: undefined }],
  ['petId', 'numeric', { '2.0': 2n, '9007199254740993': 9007199254740993n, '9223372036854775808': undefined }],
  ['petId', 'numeric', { '-9223372036854775808': -(2n ** 63n), '-9223372036854775809': undefined }],
  ['petId', 'bigint', { '9223372036854775807': 2n ** 63n - 1n, '-9223372036854775808': -(2n ** 63n) }],
  ['petId', 'float8', { '9007199254740991': 9007199254740991n, '9007199254740994': undefined }],
  ['petId', 'count', { '9007199254740993': 9007199254740993n }],
  ['complete', 'boolean', { true: true, false: false }],
  ['complete', 'numeric', { ...BITS, '1.0': true, '0.5': undefined, NaN: undefined }],
  ...['smallint', 'integer', 'bigint', 'float8'].map((type) => ['complete', type, BITS] as const),
  ['complete', 'bit', { '0': false, '1': true }],
  ['complete', 'flag', { '1': true }],
  [
    'complete',
    'text',
    { no: false, T: true, ON: true, '': undefined, maybe: undefined, '2': undefined, '01': undefined },
  ],
];
