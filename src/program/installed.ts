/** Waits for the `import` of an optional package. Rejects with what to install if it is missing. */
export async function ifInstalled<T>(importing: Promise<T>, title: string, packageName: string): Promise<T> {
  try {
    return await importing;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new Error(`${title} is not installed; run "npm install ${packageName}"`);
  }
}
