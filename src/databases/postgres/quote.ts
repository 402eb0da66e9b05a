/** The greatest length of a name. The server truncates a longer name without an error. */
const LONGEST_NAME_BYTES = 63;

/**
 * Quotes a name for SQL exactly as it is in the catalogue, including upper case. Throws a TypeError
 * that names the option.
 */
export function quoteName(option: string, name: string): string {
  if (typeof name !== 'string' || name === '' || name.includes('\0') || Buffer.byteLength(name) > LONGEST_NAME_BYTES) {
    throw new TypeError(`${option}: expected a name of 1 to ${LONGEST_NAME_BYTES} bytes`);
  }
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Quotes the name of a table, or of a schema and a table separated by a dot. Throws a TypeError
 * that names the option.
 */
export function quoteTable(option: string, table: string): string {
  const names = typeof table === 'string' ? table.split('.') : [''];
  if (names.length > 2) throw new TypeError(`${option}: expected "table" or "schema.table"`);
  return names.map((name) => quoteName(option, name)).join('.');
}

/** Quotes a text for SQL, whatever the server's `standard_conforming_strings` is. */
export function quoteText(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
