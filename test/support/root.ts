import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of the project. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Returns the paths of all files below a folder, relative to the root of the project. */
export function filesOf(folder: string): readonly string[] {
  return readdirSync(`${root}/${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isFile()) return [path];
    return entry.name === 'node_modules' || entry.name === 'generated' ? [] : filesOf(path);
  });
}
