import { baseAddress } from '../listener/base-url.js';
import type { LogFields } from '../log/log.js';
import { createMetricsServer } from '../metrics/metrics-server.js';
import { listen, portOf } from './listen.js';

export type MetricsPort =
  | { readonly ok: true; readonly fields: LogFields; close(): void }
  | { readonly ok: false; readonly refusal: string };

/** Serves the metrics on a port of their own. `fields` is their address, for the log. */
export async function listenForMetrics(
  host: string,
  port: number | undefined,
  text: () => Promise<string>,
): Promise<MetricsPort> {
  const server = createMetricsServer(text);
  const refusal = await listen(server, { host, port: port ?? 0, flag: '--metrics-port' });
  if (refusal !== undefined) return { ok: false, refusal };
  const address = portOf(server);
  return {
    ok: true,
    fields: address === undefined ? {} : { metrics: baseAddress(address, '/metrics') },
    close: () => server.close().closeAllConnections(),
  };
}
