import { ADDRESS_PLAN, type AdmissionOptions, createAdmission } from '../../http/admission.js';
import { type ClientAddress, createExchange, type Exchange } from '../../http/exchange.js';
import { isPromise } from '../../http/host-call.js';
import type { OrderService, RequestHead } from '../../http/index.js';
import { attempt, finish, limitFieldsOf, type Outcome, type Reply, refusal, unavailable } from '../../http/reply.js';
import { readHead } from '../../http/request-head.js';
import { NOT_OURS } from '../../http/route.js';
import { type DocsFile, docsReply } from '../docs/files.js';
import type { Health, Probes } from './health.js';

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

  function respondToProbe(
    check: () => Health | Promise<Health>,
    request: RequestHead,
    clientAddress: ClientAddress,
  ): Reply | Promise<Reply> {
    const { method, url, rawHeaders } = request;
    const head = readHead(request);
    if (head.fault !== undefined) return service.respond(request, clientAddress);
    const exchange = createExchange(NOT_OURS, method, url, rawHeaders, head, clientAddress, addressPlan);

    function settle({ isOk, backends }: Health): Reply {
      const { charged, isOverLimit, limitFields } = exchange;
      // Charging the address may have set `code` and `error`. They are not about the probe.
      const asked = { ...exchange, code: undefined, error: undefined, limitFields };
      if (!isOk) return finish(asked, unready(asked, backends));
      const body = Buffer.from(JSON.stringify({ status: 'ok', backends }));
      const headers = ['Content-Type', 'application/json', 'Content-Length', `${body.length}`];
      headers.push('Cache-Control', 'no-store');
      if (head.hasContent || exchange.isLast) headers.push('Connection', 'close');
      if (exchange.requestId !== undefined) headers.push('X-Request-Id', exchange.requestId);
      return { status: 200, headers, body: method === 'HEAD' ? undefined : body, charged, isOverLimit };
    }

    // If the limiter fails, the probe still gets its response. The charge only decides whether the
    // connection is closed.
    const charged = attempt(exchange, () => chargeAddress(exchange, 'bad_request'));
    if (method !== 'GET' && method !== 'HEAD') {
      const refuse = () => {
        const asked = { ...exchange, error: undefined };
        return finish(asked, refusal(asked, 'method_not_allowed', 'Allow', 'GET, HEAD'));
      };
      return isPromise(charged) ? charged.then(refuse) : refuse();
    }
    const health = isPromise(charged) ? charged.then(check) : check();
    return isPromise(health) ? health.then(settle) : settle(health);
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

/** Returns a 503 with the usual Error object, and with the state of each backend. */
function unready(exchange: Exchange, backends: Health['backends']): Outcome {
  const { status, headers, body } = unavailable(exchange);
  const bytes = Buffer.from(JSON.stringify({ ...JSON.parse(String(body)), backends }));
  headers[headers.indexOf('Content-Length') + 1] = `${bytes.length}`;
  return { status, headers, body: bytes };
}

function pathOf(target: string): string {
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}
