import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ReplyMessage } from '../../http/index.js';
import type { Log } from './log.js';
import { messageOf } from './message-of.js';

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

function isReplyMessage(message: unknown): message is ReplyMessage {
  return typeof message === 'object' && message !== null && 'status' in message && 'durationMs' in message;
}
