export interface Sending {
  readonly method: 'GET' | 'DELETE';
  readonly url: string;
  readonly apiKey: string;
}

/** A response. Its body is kept as text, because `JSON.parse` would round integers above 2^53. */
export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly text: string;
  readonly durationMs: number;
}

/** Sends a request. If no response arrives, returns a sentence that explains why. */
export async function send({ method, url, apiKey }: Sending): Promise<Answer | string> {
  const startedMs = performance.now();
  let headers: Headers;
  try {
    headers = new Headers(apiKey === '' ? {} : { Authorization: `Bearer ${apiKey}` });
  } catch {
    return 'The API key has characters that are not allowed in a header field. Copy the key again.';
  }
  try {
    const response = await fetch(url, { method, headers, cache: 'no-store', credentials: 'omit' });
    const text = await response.text();
    const durationMs = performance.now() - startedMs;
    return { status: response.status, statusText: response.statusText, headers: response.headers, text, durationMs };
  } catch {
    return 'No response. Check that the server is running and the network is available.';
  }
}
