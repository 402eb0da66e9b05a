import { KEY, ORDERS } from './shop.js';

/** The line of the field with the key, as a client sends it. */
export const AUTHORIZATION = KEY.join(': ');
export const CHUNKED = 'Transfer-Encoding: chunked';

/** Returns the head of a request. */
export const lines = (...all: readonly string[]) => `${all.join('\r\n')}\r\n\r\n`;
export const get = (...fields: readonly string[]) =>
  lines(`GET ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION, ...fields);
export const cancel = (id: number, ...fields: readonly string[]) =>
  lines(`DELETE ${ORDERS}/${id} HTTP/1.1`, 'Host: a', AUTHORIZATION, ...fields);
