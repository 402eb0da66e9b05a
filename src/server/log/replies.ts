import { subscribe } from 'node:diagnostics_channel';
import { REPLY_CHANNEL } from '../../http/channel.js';
import type { ReplyMessage } from '../../http/index.js';

/** Calls `listener` with each reply that the service publishes. */
export function onReplies(listener: (message: ReplyMessage) => void): void {
  subscribe(REPLY_CHANNEL, (message) => {
    if (isReplyMessage(message)) listener(message);
  });
}

function isReplyMessage(message: unknown): message is ReplyMessage {
  return message instanceof Object && 'durationMs' in message;
}
