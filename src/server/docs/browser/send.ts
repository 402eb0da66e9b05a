/** A response. Its body is kept as text, because `JSON.parse` would round integers above 2^53. */
export interface ReadResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly text: string;
  readonly durationMs: number;
}

/** Sends a request. If no response arrives, returns a sentence that explains why. */
export async function send(method: 'GET' | 'DELETE', url: string, apiKey: string): Promise<ReadResponse | string> {
  const startedMs = performance.now();
  if (!/^[\u0020-\u00ff]*$/.test(apiKey)) {
    return 'The API key has characters that are not allowed in a header field. Copy the key again.';
  }
  const headers = new Headers(apiKey === '' ? {} : { Authorization: `Bearer ${apiKey}` });
  try {
    const response = await fetch(url, { method, headers, cache: 'no-store', credentials: 'omit' });
    const text = await response.text();
    const { status, statusText } = response;
    return { status, statusText, headers: response.headers, text, durationMs: performance.now() - startedMs };
  } catch {
    return 'No response. Check that the server is running and the network is available.';
  }
}
