/**
 * A `fetch` for clients that are generated from the OpenAPI document, such as those of hey-api and
 * openapi-fetch. Their types have ids as numbers, which are rounded beyond 2^53. With this `fetch`
 * the ids are text, digit for digit, ready for the path of `cancelOrder`. `BigInt(order.id)`
 * converts an id to a bigint.
 */
export async function exactFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  const text = await response.text();
  // A quote inside a string is escaped, so `"id":` is always a name. A response without content
  // (204) must have the body `null`.
  return new Response(text === '' ? null : text.replace(/"(id|petId)":\s*(-?\d+)/g, '"$1":"$2"'), response);
}
