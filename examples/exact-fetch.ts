/**
 * A `fetch` for clients that are generated from the OpenAPI document, such as those of hey-api and
 * openapi-fetch. Such clients declare ids as numbers, and round ids beyond 2^53. In the responses
 * of this `fetch`, each id is a string with all its digits. This string can be passed to
 * `cancelOrder` unchanged. `BigInt(order.id)` converts it to a bigint.
 */
export async function exactFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  const text = await response.text();
  // The pattern matches only names of fields, because a quote inside a string is escaped.
  // A `Response` with the status 204 must have the body `null`, not an empty text.
  return new Response(text === '' ? null : text.replace(/"(id|petId)":\s*(-?\d+)/g, '"$1":"$2"'), response);
}
