import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { REPLY_CHANNEL } from '../../http/channel.js';
import type { ReplyMessage } from '../../http/index.js';

/** Calls `listener` with each reply that the service publishes. Returns a function to unsubscribe. */
export function onReplies(listener: (message: ReplyMessage) => void): () => void {
  function onMessage(message: unknown): void {
    if (isReplyMessage(message)) listener(message);
  }
  subscribe(REPLY_CHANNEL, onMessage);
  return () => void unsubscribe(REPLY_CHANNEL, onMessage);
}

function isReplyMessage(message: unknown): message is ReplyMessage {
  return typeof message === 'object' && message !== null && 'status' in message && 'durationMs' in message;
}
