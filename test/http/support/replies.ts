import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { TestContext } from 'node:test';
import type { ReplyMessage } from 'store-orders';

/** Calls `listener` with each published reply, until the returned function is called. */
export function onReplies(listener: (message: ReplyMessage) => void): () => void {
  const onMessage = (message: unknown) => {
    assert.ok(isReplyMessage(message));
    listener(message);
  };
  subscribe('store-orders:reply', onMessage);
  return () => void unsubscribe('store-orders:reply', onMessage);
}

/** Collects what is published until the end of the test. */
export function collectReplies(t: TestContext): readonly ReplyMessage[] {
  const messages: ReplyMessage[] = [];
  t.after(onReplies((message) => messages.push(message)));
  return messages;
}

function isReplyMessage(message: unknown): message is ReplyMessage {
  return typeof message === 'object' && message !== null && 'status' in message && 'durationMs' in message;
}
