import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';
import type { Mounted } from './mount.js';

/** Returns the host with a `fetch` over HTTP/1.1 and TLS. */
export function overHttps({ origin, close }: Mounted): Mounted {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  return {
    origin,
    close: () => {
      agent.destroy();
      return close();
    },
    async fetch(request) {
      const content = await request.text();
      const headers = Object.fromEntries(request.headers);
      const sent = httpsRequest(request.url, { agent, method: request.method, headers }).end(content);
      const [answer]: IncomingMessage[] = await once(sent, 'response');
      if (answer === undefined) throw new TypeError('no response');
      return toResponse(request.method, answer.statusCode ?? 0, Object.entries(answer.headers), answer);
    },
  };
}

/** Returns the host with a `fetch` over one HTTP/2 connection. */
export function overHttp2({ origin, close }: Mounted): Mounted {
  const session = connect(origin, { rejectUnauthorized: false });
  session.unref();
  return {
    origin,
    close: () => {
      session.destroy();
      return close();
    },
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const content = await request.text();
      const fields = Object.fromEntries(request.headers);
      if (content !== '') fields['content-length'] = `${content.length}`;
      const headers = { ...fields, ':method': request.method, ':path': pathname + search };
      const stream = session.request(headers, { endStream: content === '' });
      if (content !== '') stream.end(content);
      const [{ ':status': status, ...answered }] = await once(stream, 'response');
      return toResponse(request.method, Number(status), Object.entries(answered), stream);
    },
  };
}

/** If the stream is aborted, reading the response's body rejects. */
function toResponse(
  method: string,
  status: number,
  fields: readonly [string, unknown][],
  stream: AsyncIterable<Uint8Array> & { resume(): unknown },
): Response {
  const headers = new Headers(fields.map(([name, value]) => [name, String(value)]));
  if (method !== 'HEAD' && status !== 204 && status !== 304)
    return new Response(ReadableStream.from(stream), { status, headers });
  stream.resume();
  return new Response(null, { status, headers });
}
