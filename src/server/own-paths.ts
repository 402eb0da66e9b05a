import type { OpenPath } from '../http/index.js';

type Paths = Readonly<Record<string, OpenPath>>;

/** Redirections to the documentation page, and an empty icon, which browsers cache for a week. */
const FIXED_PATHS: Paths = {
  '/': redirectTo('docs'),
  '/docs/': redirectTo('../docs'),
  '/favicon.ico': { perform: () => ({ status: 204, fields: ['Cache-Control', 'public, max-age=604800'] }) },
};

/** Redirects to a relative path, which also works behind a proxy that adds a prefix to the path. */
function redirectTo(location: string): OpenPath {
  return { perform: () => ({ status: 302, fields: ['Location', location, 'Content-Length', '0'] }) };
}

/** Adds the server's own paths to those of the host. Throws a TypeError that names a path of both. */
export function withOwnPaths(paths: Paths = {}, ...own: readonly Paths[]): Paths {
  const taken: Paths = Object.assign({}, FIXED_PATHS, ...own);
  const clash = Object.keys(Object(paths)).find((path) => Object.hasOwn(taken, path));
  if (clash !== undefined) throw new TypeError(`paths["${clash}"]: this path is one of the server's own`);
  // The service refuses what is not an object.
  return Object(paths) === paths ? { ...paths, ...taken } : paths;
}
