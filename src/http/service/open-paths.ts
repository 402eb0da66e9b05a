import { AsyncResource } from 'node:async_hooks';
import { types } from 'node:util';
import { checkFields, checkFunction, checkOneOf } from '../../check.js';
import type { MaybePromise } from '../../orders/index.js';
import type { OpenPath } from '../front-door.js';
import { createHostPart } from '../host-part.js';
import { digestOf } from '../list/body.js';
import { createRepresentationSelector, type SelectRepresentation } from '../list/representations.js';

type Content = string | Uint8Array;

/**
 * Creates a path with content that never changes, which has an `ETag` and is compressed for clients
 * that accept it. Text is sent in UTF-8. A function is called at the first request, once for all that
 * arrive meanwhile, and again if it has failed. `fields` are further header fields, names and values
 * alternating. Without a `Cache-Control` among them, clients keep the content, but ask before each
 * use whether it has changed.
 */
export function fixedPath(
  type: string,
  content: Content | (() => MaybePromise<Content>),
  fields: readonly string[] = [],
): OpenPath {
  if (typeof type !== 'string') throw new TypeError('type: expected a media type such as "text/html; charset=utf-8"');
  if (!(typeof content === 'string' || typeof content === 'function' || types.isUint8Array(content))) {
    throw new TypeError('content: expected text, bytes, or a function that returns them');
  }
  // A function is called for all requests, so not in the context of the first.
  const make = typeof content === 'function' ? AsyncResource.bind(content) : () => content;
  let preparing: Promise<SelectRepresentation> | undefined;

  async function prepare(): Promise<SelectRepresentation> {
    const body = Buffer.from(await make());
    const isCacheSet = fields.some((name) => /^cache-control$/i.test(name));
    const cacheFields = isCacheSet ? fields : [...fields, 'Cache-Control', 'no-cache'];
    return createRepresentationSelector({ body, digest: digestOf(body) }, ['Content-Type', type], cacheFields);
  }

  return {
    async perform(request) {
      preparing ??= prepare().catch((error) => {
        // The next request tries again.
        preparing = undefined;
        throw error;
      });
      return (await preparing)(request);
    },
  };
}

/** Returns the paths by their names. Their failures become those of a part of the host. */
export function createOpenPaths(paths: Readonly<Record<string, OpenPath>>): ReadonlyMap<string, OpenPath> {
  return new Map(
    Object.entries(paths).map(([path, open]) => {
      const part = createHostPart(nameOf(path));
      return [path, { ...open, perform: (request) => part.call(() => open.perform(request)) }];
    }),
  );
}

/** Throws a TypeError that names the path if it is invalid, or one of the service's own. */
export function checkPaths(paths: Readonly<Record<string, OpenPath>>, isTaken: (path: string) => boolean): void {
  if (typeof paths !== 'object' || paths === null) throw new TypeError('paths: expected an object with paths as names');
  for (const [path, open] of Object.entries(paths)) {
    const name = nameOf(path);
    // A request has other characters percent-encoded, so such a path would never be found.
    if (!/^\/[!"$->@-~]*$/.test(path)) {
      throw new TypeError(`${name}: expected a path such as "/status", without a query, in ASCII`);
    }
    if (isTaken(path)) throw new TypeError(`${name}: this path is an operation of the service`);
    checkFields(name, open, ['allow', 'isAlwaysServed'], ['perform']);
    checkFunction(`${name}.perform`, open.perform);
    if (open.allow !== undefined && !/^[A-Z]+(?:, [A-Z]+)*$/.test(open.allow)) {
      throw new TypeError(`${name}.allow: expected methods such as "GET, HEAD"`);
    }
    checkOneOf(`${name}.isAlwaysServed`, open.isAlwaysServed ?? false, [true, false]);
  }
}

function nameOf(path: string): string {
  return `paths["${path}"]`;
}
