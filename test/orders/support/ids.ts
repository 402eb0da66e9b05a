export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

/** Returns the ids from 0 up to, but without, `end`. */
export const idsTo = (end: number) => Array.from({ length: end }, (_, id) => BigInt(id));
