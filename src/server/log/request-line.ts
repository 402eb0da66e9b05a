import type { ReplyMessage } from '../../http/index.js';
import { messageOf } from './message-of.js';

/**
 * Serialises the fields of a request for the log, as the members of a JSON object without its
 * braces. The result is ASCII, so its length is its size in bytes. `JSON.stringify` would be too
 * slow for a busy server, which logs tens of thousands of requests per second.
 */
export function printRequest(message: ReplyMessage): string {
  const { requestId, traceparent, method, path, clientAddress, status, bytes, operation, code } = message;
  const { orderId, keyId, durationMs, error } = message;
  let line = `"requestId":${printText(`${requestId}`)}`;
  if (traceparent !== undefined) line += `,"traceparent":${printText(traceparent)}`;
  if (method !== undefined) line += `,"method":${printMethod(method)}`;
  if (path !== undefined) line += `,"path":${printPath(path)}`;
  if (clientAddress !== undefined) line += `,"clientAddress":${printAddress(clientAddress)}`;
  line += `,"status":${status}`;
  if (bytes !== undefined) line += `,"bytes":${bytes}`;
  if (operation !== undefined) line += `,"operation":"${operation}"`;
  if (code !== undefined) line += `,"code":"${code}"`;
  if (orderId !== undefined) line += `,"orderId":"${orderId}"`;
  if (keyId !== undefined) line += `,"keyId":${printKeyId(keyId)}`;
  line += `,"durationMs":${printMs(durationMs)}`;
  return error === undefined ? line : `${line},"error":${printText(messageOf(error))}`;
}

const printMethod = createTextPrinter();
const printPath = createTextPrinter();
const printAddress = createTextPrinter();
const printKeyId = createTextPrinter();

/**
 * Creates a printer that caches the last text, because consecutive requests often have the same
 * method, path, address or key.
 */
function createTextPrinter(): (text: string) => string {
  let last = '';
  let printed = '""';
  return (text) => {
    if (text !== last) {
      last = text;
      printed = printText(text);
    }
    return printed;
  };
}

/** Matches printable ASCII without `"` and `\`. */
const PLAIN = /^[ !#-[\]-~]*$/;

function printText(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : escapeNonAscii(JSON.stringify(text));
}

function escapeNonAscii(json: string): string {
  return json.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * The text of each fraction of a millisecond: `.001` to `.999` without trailing zeros, and an empty
 * string for 0. Prepared here, because V8 takes long to format a fraction.
 */
const FRACTIONS = Array.from({ length: 1_000 }, (_, us) => `${us / 1_000}`.slice(1));

/** Formats milliseconds, exact to the microsecond. */
function printMs(ms: number): string {
  const us = Math.round(ms * 1_000);
  const whole = Math.floor(us / 1_000);
  return `${whole}${FRACTIONS[us - whole * 1_000]}`;
}
