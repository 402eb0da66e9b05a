import { baseAddress } from '../listener/base-url.js';
import { createMetricsServer } from '../metrics/metrics-server.js';
import { addressOf, listen } from './listen.js';

/** The address of the metrics, or why the server cannot listen there. */
interface MetricsPort {
  readonly url: string | undefined;
  readonly refusal: string | undefined;
  close(): void;
}

/** Serves the metrics on a port of their own. */
export async function listenForMetrics(
  host: string,
  port: number | undefined,
  text: () => Promise<string>,
): Promise<MetricsPort> {
  const server = createMetricsServer(text);
  const refusal = await listen(server, { host, port: port ?? 0, flag: '--metrics-port' });
  const address = addressOf(server);
  const url = address && baseAddress(address, '/metrics');
  return { url, refusal, close: () => server.close().closeAllConnections() };
}
