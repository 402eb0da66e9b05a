import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { messageOf } from '../../message-of.js';
import { type CommandResult, done, failed } from '../command-result.js';
import { baseAddress, localAddress } from './base-url.js';

const PATIENCE_MS = 3_000;

/** Checks whether the server is healthy or, with `checksReadiness`, whether it is ready. */
export async function checkHealth(
  { host, port }: { readonly host: string; readonly port: number | string },
  checksReadiness: boolean,
): Promise<CommandResult> {
  const path = checksReadiness ? '/readyz' : '/healthz';
  const isSocket = typeof port === 'string';
  const url = isSocket ? `http://localhost${path}` : localAddress(baseAddress({ address: host, port }, path));
  const place = isSocket ? port : url;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const options = { agent: false, signal, ...(isSocket && { socketPath: port }) };
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, options, resolve).on('error', reject).end();
    });
    const { statusCode: status } = response;
    const content = await text(response);
    if (status === 200) return done('ok', { status });
    return failed(`${place} responded with ${status}: ${content.trim().slice(0, 200)}`);
  } catch (error) {
    if (signal.aborted) return failed(`${place}: no response within ${PATIENCE_MS} ms`);
    return failed(`${place}: ${messageOf(error)}; check that the server runs at --host and --port`);
  }
}
