import { ADDRESS_PLAN, type AdmissionOptions, createAdmission } from '../../http/admission.js';
import { type ClientAddress, createExchange } from '../../http/exchange.js';
import { isPromise } from '../../http/host-call.js';
import type { OrderService, RequestHead } from '../../http/index.js';
import { attempt, finish, limitFieldsOf, type Outcome, type Reply, refusal } from '../../http/reply.js';
import { readHead } from '../../http/request-head.js';
import { NOT_OURS } from '../../http/route.js';
import { type DocsFile, docsReply } from '../docs/files.js';
import type { Probe, Probes } from './health.js';

/**
 * Constant responses: redirections to the documentation page, and an empty icon, which browsers
 * cache for a week.
 */
const FIXED: ReadonlyMap<string, Outcome> = new Map([
  ['/', redirection('docs')],
  ['/docs/', redirection('../docs')],
  ['/favicon.ico', { status: 204, headers: ['Cache-Control', 'public, max-age=604800'], body: undefined }],
]);

/**
 * Redirects to a relative path, which also works behind a proxy that serves this server below a
 * path.
 */
function redirection(location: string): Outcome {
  return { status: 302, headers: ['Location', location, 'Content-Length', '0'], body: '' };
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
  options: AdmissionOptions,
): OrderService {
  const { addressPlan = ADDRESS_PLAN } = options;
  const { chargeAddress } = createAdmission(options, () => undefined);

  function respondToProbe(probe: Probe, request: RequestHead, clientAddress: ClientAddress): Reply | Promise<Reply> {
    const { method, url, rawHeaders } = request;
    const head = readHead(request);
    if (head.fault !== undefined) return service.respond(request, clientAddress);
    const exchange = createExchange(NOT_OURS, method, url, rawHeaders, head, clientAddress, addressPlan);

    function settle({ status, headers, body }: Outcome): Reply {
      const { charged, isOverLimit } = exchange;
      const reply = { status, headers: [...headers], body, charged, isOverLimit };
      // Charging the address has set `code` and `error`. They are removed, because they are not
      // about the probe.
      if (status !== 200) return finish({ ...exchange, code: undefined, error: undefined }, reply);
      if (head.hasContent || exchange.isLast) reply.headers.push('Connection', 'close');
      if (exchange.requestId !== undefined) reply.headers.push('X-Request-Id', exchange.requestId);
      return reply;
    }

    // If the limiter fails, the probe still gets its response. The charge only decides whether the
    // connection is closed.
    const charged = attempt(exchange, () => chargeAddress(exchange, 'bad_request'));
    const reply = isPromise(charged) ? charged.then(() => probe(method)) : probe(method);
    return isPromise(reply) ? reply.then(settle) : settle(reply);
  }

  function respondWithFile(
    file: DocsFile | Outcome,
    request: RequestHead,
    clientAddress: ClientAddress,
  ): Reply | Promise<Reply> {
    const { method, url, rawHeaders } = request;
    const head = readHead(request);
    if (head.fault !== undefined) return service.respond(request, clientAddress);
    const exchange = createExchange(NOT_OURS, method, url, rawHeaders, head, clientAddress, addressPlan);

    function represent(): Outcome {
      if (method !== 'GET' && method !== 'HEAD') return refusal(exchange, 'method_not_allowed', 'Allow', 'GET, HEAD');
      const { status, headers, body } = 'status' in file ? file : docsReply(file, exchange);
      return { status, headers: [...headers, ...limitFieldsOf(exchange)], body };
    }

    const reply = attempt(exchange, () => chargeAddress(exchange, represent));
    return isPromise(reply) ? reply.then((settled) => finish(exchange, settled)) : finish(exchange, reply);
  }

  return {
    ...service,
    respond(request, clientAddress) {
      const { url = '' } = request;
      const probe = probes.get(url);
      if (probe !== undefined) return respondToProbe(probe, request, clientAddress);
      const path = pathOf(url);
      const file = docs.get(path) ?? FIXED.get(path);
      if (file !== undefined) return respondWithFile(file, request, clientAddress);
      return service.respond(request, clientAddress);
    },
  };
}

function pathOf(target: string): string {
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}
