import { fetchHandler } from 'store-orders/fetch';
import type { Mount } from './mount.js';

const origin = 'http://orders.test';
const close = async () => {};

/** Ways to reach the service without a host or a socket. */
export const bareMounts: readonly Mount[] = [
  {
    name: 'the core',
    hooks: [],
    open: async (service) => ({
      origin,
      close,
      async fetch({ method, url, headers }) {
        const {
          status,
          headers: fields,
          body,
        } = await service.respond({ method, url, rawHeaders: [...headers].flat() });
        const answered = new Headers();
        for (let i = 0; i < fields.length; i += 2) answered.append(fields[i] ?? '', fields[i + 1] ?? '');
        if (body === undefined || typeof body === 'string')
          return new Response(body ?? null, { status, headers: answered });
        return new Response(body instanceof Uint8Array ? body : ReadableStream.from(body), {
          status,
          headers: answered,
        });
      },
    }),
  },
  {
    name: 'a fetch handler',
    hooks: [],
    open: async (service) => ({ origin, close, fetch: fetchHandler(service) }),
  },
];
