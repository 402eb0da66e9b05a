export interface Sending {
  readonly method: 'GET' | 'DELETE';
  readonly url: string;
  readonly apiKey: string;
}

/** What came back, as it came: a JSON parser would round what is beyond 2^53. */
export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly text: string;
  readonly durationMs: number;
}

/** Answers a sentence instead if there was no answer. */
export async function send({ method, url, apiKey }: Sending): Promise<Answer | string> {
  const startedMs = performance.now();
  let headers: Headers;
  try {
    headers = new Headers(apiKey === '' ? {} : { Authorization: `Bearer ${apiKey}` });
  } catch {
    return 'The API key has characters that no header field can have. Copy it again.';
  }
  try {
    const response = await fetch(url, { method, headers, cache: 'no-store', credentials: 'omit' });
    const text = await response.text();
    const durationMs = performance.now() - startedMs;
    return { status: response.status, statusText: response.statusText, headers: response.headers, text, durationMs };
  } catch {
    return 'No answer came. Is the server running, and the network there?';
  }
}

/** The same request as a line for a shell; the key itself only if it is to be shown. */
export function curlLine({ method, url, apiKey }: Sending, showsKey: boolean): string {
  const verb = method === 'GET' ? '' : ` -X ${method}`;
  const field =
    showsKey && apiKey !== '' ? shellQuoted(`Authorization: Bearer ${apiKey}`) : '"Authorization: Bearer $API_KEY"';
  return `curl -i${verb} -H ${field} ${shellQuoted(url)}`;
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
