import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import type { ReplyMessage } from '../../http/index.js';
import type { Log } from './log.js';

const REPLIES = 'store-orders:reply';

/**
 * Logs what the service publishes of each reply: all of them, or with `failuresOnly` those behind which a part failed.
 * Returns what ends it.
 */
export function logReplies(log: Log, failuresOnly: boolean): () => void {
  function onReply(message: unknown): void {
    if (!isReplyMessage(message)) return;
    const { status, code, operation, orderId, keyId, error, durationMs } = message;
    if (failuresOnly && error === undefined) return;
    const fields = {
      status,
      operation,
      code,
      orderId: orderId?.toString(),
      keyId,
      durationMs: Math.round(durationMs * 1_000) / 1_000,
    };
    if (error === undefined) log.event('request', fields);
    else log.error('request', { ...fields, error: messageOf(error) });
  }
  subscribe(REPLIES, onReply);
  return () => void unsubscribe(REPLIES, onReply);
}

/** What a failure says of itself, for the operator alone. */
export function messageOf(error: unknown): string {
  // Where a host has several addresses, each has failed, and the whole has nothing to say.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  // From another thread, or of a driver that throws no Error.
  if (typeof error === 'object' && error !== null) return 'message' in error ? String(error.message) : inspect(error);
  return String(error);
}

function isReplyMessage(message: unknown): message is ReplyMessage {
  return typeof message === 'object' && message !== null && 'status' in message && 'durationMs' in message;
}
