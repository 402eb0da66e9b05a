import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { messageOf } from '../../message-of.js';
import { type CommandResult, done, failed } from '../command-result.js';
import { baseAddress, localAddress } from '../serve/base-url.js';
import { readSettings } from '../settings/read-settings.js';
import { type Command, settingOptions } from './command.js';

export const healthcheckCommand: Command = {
  name: 'healthcheck',
  summary: 'Asks the server at --host and --port for its health. Exits with 0 if it is healthy, otherwise with 1.',
  options: {
    ready: { about: 'ask whether the server is ready for requests (/readyz), not only whether it runs (/healthz)' },
    ...settingOptions(['host', 'port']),
  },
  examples: ['healthcheck', 'healthcheck --ready --port 3000'],
  run: (invocation) => checkHealth(readSettings(invocation, ['host', 'port']).settings, invocation.flags.has('ready')),
};

const PATIENCE_MS = 3_000;

/** Checks whether the server is healthy or, with `checksReadiness`, whether it is ready. */
async function checkHealth(
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
