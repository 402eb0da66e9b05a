import type { FrontDoor } from '../../http/front-door.js';
import { after, attempt } from '../../http/host-call.js';
import type { OrderService } from '../../http/index.js';
import { failed, type Outcome, type Reply, refusal } from '../../http/reply.js';
import type { ReadRequest } from '../../http/request.js';
import { pathOf } from '../../http/route.js';
import type { DocsFile } from '../docs/files.js';
import type { Health, Probes } from './health.js';

/**
 * Constant responses: redirections to the documentation page, and an empty icon, which browsers
 * cache for a week.
 */
const FIXED: ReadonlyMap<string, Outcome> = new Map([
  ['/', redirection('docs')],
  ['/docs/', redirection('../docs')],
  ['/favicon.ico', { status: 204, fields: ['Cache-Control', 'public, max-age=604800'], body: undefined }],
]);

/**
 * Redirects to a relative path, which also works behind a proxy that serves this server below a
 * path.
 */
function redirection(location: string): Outcome {
  return { status: 302, fields: ['Location', location, 'Content-Length', '0'], body: '' };
}

/**
 * Wraps the service with the server's own paths, which need no key: probes and the documentation.
 * Both are charged to the client's address. If the address is over its limit, the documentation is
 * refused. A probe still gets its response, and its connection is closed. A successful probe is not
 * published on the diagnostics channel, because probes would fill the log. Requests that the
 * service refuses on every path, such as one with a second `Host` field, are refused here too.
 */
export function withOwnPaths(
  service: OrderService,
  probes: Probes,
  docs: ReadonlyMap<string, DocsFile>,
  door: FrontDoor,
): OrderService {
  return {
    ...service,
    respond(head, clientAddress) {
      const { url = '' } = head;
      const check = probes.get(url);
      if (check !== undefined) {
        const request = door.read(head, clientAddress);
        return replyAnyway(door, request, () => probe(request, check));
      }
      const path = pathOf(url);
      const file = docs.get(path) ?? FIXED.get(path);
      if (file === undefined) return service.respond(head, clientAddress);
      const request = door.read(head, clientAddress);
      return after(door.charge(request), (verdict) =>
        after(verdict.refusal ?? attempt(() => represent(file, request), failed), (settled) =>
          door.reply(request, verdict, settled),
        ),
      );
    },
  };
}

/**
 * Charges a request to its client's address, and replies even if the address is over its limit or
 * the limiter fails. The charge then only decides whether the connection is closed.
 */
export function replyAnyway(
  door: FrontDoor,
  request: ReadRequest,
  outcome: () => Outcome | Promise<Outcome>,
): Reply | Promise<Reply> {
  return after(door.charge(request), (verdict) => {
    const isRefused = verdict.refusal !== undefined && request.fault !== undefined;
    return after(isRefused ? verdict.refusal : outcome(), (settled) =>
      door.reply(request, verdict, settled, { isQuiet: settled.status === 200 }),
    );
  });
}

const NOT_ALLOWED = refusal('method_not_allowed', 'Allow', 'GET, HEAD');

function isRead({ method }: ReadRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

function probe(request: ReadRequest, check: () => Health | Promise<Health>): Outcome | Promise<Outcome> {
  return isRead(request) ? after(check(), healthOutcome) : NOT_ALLOWED;
}

/** Returns a 200, or else a 503 with the usual Error object, both with the state of each backend. */
function healthOutcome({ isOk, backends }: Health): Outcome {
  if (isOk) {
    const body = Buffer.from(JSON.stringify({ status: 'ok', backends }));
    const fields = [
      'Content-Type',
      'application/json',
      'Content-Length',
      `${body.length}`,
      'Cache-Control',
      'no-store',
    ];
    return { status: 200, fields, body };
  }
  const unavailable = refusal('service_unavailable');
  const body = Buffer.from(JSON.stringify({ ...JSON.parse(String(unavailable.body)), backends }));
  const fields = unavailable.fields.with(unavailable.fields.indexOf('Content-Length') + 1, `${body.length}`);
  return { ...unavailable, fields, body };
}

function represent(file: DocsFile | Outcome, request: ReadRequest): Outcome | Promise<Outcome> {
  if (!isRead(request)) return NOT_ALLOWED;
  if (typeof file !== 'function') return file;
  return after(file(request), (found) => (found.status === 412 ? refusal('precondition_failed') : found));
}
