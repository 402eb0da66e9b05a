import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { REPLY_CHANNEL } from '../../http/channel.js';
import type { ReplyMessage } from '../../http/index.js';
import type { Log } from './log.js';

/**
 * Calls `listener` with each reply that the service publishes, until the returned function is
 * called.
 */
export function onReplies(listener: (message: ReplyMessage) => void): () => void {
  function onMessage(message: unknown): void {
    if (isReplyMessage(message)) listener(message);
  }
  subscribe(REPLY_CHANNEL, onMessage);
  return () => void unsubscribe(REPLY_CHANNEL, onMessage);
}

/**
 * Logs the replies that the service publishes, until the returned function is called. With
 * `failuresOnly`, logs only the replies with an error.
 */
export function logReplies(log: Log, failuresOnly: boolean): () => void {
  return onReplies((message) => {
    if (!failuresOnly || message.error !== undefined) log.request(message);
  });
}

function isReplyMessage(message: unknown): message is ReplyMessage {
  return typeof message === 'object' && message !== null && 'status' in message && 'durationMs' in message;
}
