import { once } from 'node:events';
import { connect } from 'node:http2';
import type { Mounted } from './mount.js';

/** Makes the global `fetch` accept the host's self-signed certificate. */
export function trustAnyCertificate(mounted: Promise<Mounted>): Promise<Mounted> {
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  return mounted;
}

/**
 * Returns the host with a `fetch` over one HTTP/2 connection. If the stream is aborted, reading the
 * response's body rejects.
 */
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
      const head = { ...fields, ':method': request.method, ':path': pathname + search };
      const stream = session.request(head, { endStream: content === '' });
      if (content !== '') stream.end(content);
      const [{ ':status': status, ...answered }] = await once(stream, 'response');
      const headers = new Headers(Object.entries(answered).map(([name, value]) => [name, String(value)]));
      const hasContent = request.method !== 'HEAD' && status !== 204 && status !== 304;
      if (!hasContent) stream.resume();
      return new Response(hasContent ? ReadableStream.from(stream) : null, { status: Number(status), headers });
    },
  };
}
