/**
 * Creates an OpenTelemetry span for each reply, as a child of the caller's span (`traceparent`).
 * Copy the function `traceReplies` into your host. The test shows which spans arrive at the
 * exporter.
 *
 *     node --import tsx --test examples/opentelemetry.test.ts
 */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, type Tracer, trace } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { ReplyMessage } from 'store-orders';
import { createTestService } from 'store-orders/testing';

/**
 * Subscribes to the replies, to create a span for each of them. Returns a function that
 * unsubscribes.
 */
function traceReplies(tracer: Tracer): () => void {
  function onReply(message: unknown): void {
    if (!isReply(message)) return;
    const { operation, status, code, method, path, clientAddress, requestId, keyId, plan, error } = message;
    const endMs = performance.timeOrigin + performance.now();
    const span = tracer.startSpan(
      operation ?? 'refused',
      {
        kind: SpanKind.SERVER,
        startTime: endMs - message.durationMs,
        attributes: {
          'http.request.method': method,
          'http.response.status_code': status,
          'url.path': path,
          'client.address': clientAddress,
          'error.type': code,
          'store_orders.request_id': requestId,
          'store_orders.key_id': keyId,
          'store_orders.plan': plan,
        },
      },
      parentOf(message),
    );
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    if (error instanceof Error) span.recordException(error, endMs);
    span.end(endMs);
  }
  subscribe('store-orders:reply', onReply);
  return () => void unsubscribe('store-orders:reply', onReply);
}

/**
 * Returns the context of the caller's span. The service passes on a `traceparent` only if it is
 * valid.
 */
function parentOf({ traceparent }: ReplyMessage) {
  const [, traceId, spanId, flags] = traceparent?.split('-') ?? [];
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags ?? '', 16) & TraceFlags.SAMPLED;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

function isReply(message: unknown): message is ReplyMessage {
  return typeof message === 'object' && message !== null && 'status' in message && 'durationMs' in message;
}

test('each response becomes a span, and a traceparent in the request names the parent of that span', async (t) => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  t.after(traceReplies(provider.getTracer('store-orders')));

  const { url, fetch, apiKey } = createTestService({ orders: [{ id: 1, status: 'shipped' }] });
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const headers = { Authorization: `Bearer ${apiKey}`, traceparent };
  const response = await fetch(`${url}/store/orders/1`, { method: 'DELETE', headers });
  await fetch(`${url}/store/orders`);

  const [cancel, refused] = exporter.getFinishedSpans();
  assert.equal(cancel?.name, 'cancelOrder');
  assert.equal(cancel.spanContext().traceId, '4bf92f3577b34da6a3ce929d0e0e4736');
  assert.equal(cancel.parentSpanContext?.spanId, '00f067aa0ba902b7');
  assert.equal(cancel.attributes['error.type'], 'order_already_shipped');
  assert.equal(cancel.attributes['store_orders.request_id'], response.headers.get('X-Request-Id'));
  assert.equal(refused?.parentSpanContext, undefined);
});
