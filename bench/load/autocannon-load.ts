import autocannon from 'autocannon';
import type { LoadRequest } from './load.js';

interface Task {
  readonly url: string;
  readonly apiKey: string;
  readonly method: LoadRequest['method'];
  readonly path: string;
  readonly status: LoadRequest['status'];
  readonly connections: number;
  readonly seconds: number;
  readonly firstId: number;
}

process.once('message', async (task: Task) => {
  process.send?.(await run(task));
  process.disconnect();
});

/** Sends requests with autocannon. Returns the number of responses, or the text of an error. */
async function run({
  url,
  apiKey,
  method,
  path,
  status,
  connections,
  seconds,
  firstId,
}: Task): Promise<number | string> {
  let id = firstId;
  const each: autocannon.Request = { method, path };
  if (status === 204) each.setupRequest = (request) => ({ ...request, path: `${path}${id++}` });
  const headers = { authorization: `Bearer ${apiKey}` };
  const result = await autocannon({ url, requests: [each], connections, duration: seconds, headers });
  const expected = result.statusCodeStats?.[`${status}`]?.count ?? 0;
  if (result.errors > 0 || result.timeouts > 0 || expected !== result.requests.total) {
    return `${result.errors} errors, ${expected} of ${result.requests.total} answers were ${status}`;
  }
  return result.requests.total;
}
