/** Waits for the `import` of an optional package. Resolves to `undefined` if it is not installed. */
export async function ifInstalled<T>(importing: Promise<T>): Promise<T | undefined> {
  try {
    return await importing;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** Returns a sentence about an optional package that is missing, such as `pg`. */
export function notInstalled(what: string, name: string): string {
  return `${what} is not installed; run "npm install ${name}"`;
}
