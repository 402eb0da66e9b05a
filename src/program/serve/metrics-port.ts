import { ifInstalled } from '../installed.js';
import { baseAddress } from './base-url.js';
import { addressOf, listen } from './listen.js';
import { createMetricsServer } from './metrics-server.js';

/** Loads the metrics, which need an optional package. Rejects if it is not installed. */
export function loadMetrics(): Promise<typeof import('./metrics.js')> {
  return ifInstalled(import('./metrics.js'), 'the metrics library', 'prom-client');
}

/** Serves the metrics on a port of their own. Rejects if the server cannot listen there. */
export async function listenForMetrics(collect: () => Promise<string>, host: string, port = 0) {
  const server = createMetricsServer(collect);
  await listen(server, { host, port, flag: '--metrics-port' });
  const address = addressOf(server);
  const url = address && baseAddress(address, '/metrics');
  return { url, close: () => server.close().closeAllConnections() };
}
