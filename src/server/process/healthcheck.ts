import { request } from 'node:http';
import { type CommandResult, done, failed } from '../command-result.js';
import { baseAddress, localAddress } from '../listener/base-url.js';
import { messageOf } from '../log/message-of.js';

const PATIENCE_MS = 3_000;

/**
 * Checks whether the server with these settings is healthy. With `isReadiness`, checks whether it
 * is ready.
 */
export function checkHealth(
  { host, port }: { readonly host: string; readonly port: number | string },
  isReadiness: boolean,
): Promise<CommandResult> {
  const path = isReadiness ? '/readyz' : '/healthz';
  const isSocket = typeof port === 'string';
  const url = isSocket ? `http://localhost${path}` : localAddress(baseAddress({ address: host, port }, path));
  const place = isSocket ? port : url;
  return new Promise((resolve) => {
    const options = { agent: false, signal: AbortSignal.timeout(PATIENCE_MS), ...(isSocket && { socketPath: port }) };
    const asking = request(url, options, (response) => {
      response.setEncoding('utf8').once('error', fail);
      let content = '';
      response.on('data', (text) => {
        content += text;
      });
      response.once('end', () => {
        const { statusCode: status } = response;
        if (status === 200) resolve(done('ok', { status }));
        else resolve(failed(`${place} responded with ${status}: ${content.trim().slice(0, 200)}`));
      });
    });
    function fail(error: Error): void {
      const isLate = error.name === 'AbortError' || error.name === 'TimeoutError';
      resolve(failed(`${place}: ${isLate ? `no response within ${PATIENCE_MS} ms` : messageOf(error)}`));
    }
    asking.once('error', fail);
    asking.end();
  });
}
