/** The greatest length of a name. The server would cut off a longer name, without an error. */
const LONGEST_NAME_BYTES = 63;

/**
 * Quotes a name for SQL. Upper case is kept, so the name must be spelled exactly as in the
 * database. Throws a TypeError that begins with `option` if the name is empty or too long.
 */
export function quoteName(option: string, name: string): string {
  if (typeof name !== 'string' || name === '' || name.includes('\0') || Buffer.byteLength(name) > LONGEST_NAME_BYTES) {
    throw new TypeError(`${option}: expected a name of 1 to ${LONGEST_NAME_BYTES} bytes`);
  }
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Quotes the name of a table, with or without a schema: `table` or `schema.table`. Throws a
 * TypeError that begins with `option` if the name is not valid.
 */
export function quoteTable(option: string, table: string): string {
  const names = typeof table === 'string' ? table.split('.') : [''];
  if (names.length > 2) throw new TypeError(`${option}: expected "table" or "schema.table"`);
  return names.map((name) => quoteName(option, name)).join('.');
}

/**
 * Quotes a text for SQL, in a form that is valid with both values of the server's setting
 * `standard_conforming_strings`.
 */
export function quoteText(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
