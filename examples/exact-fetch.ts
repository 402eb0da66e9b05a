/**
 * A `fetch` for clients that a generator makes from the OpenAPI document, such as hey-api and
 * openapi-fetch. Their types have ids as numbers, which are rounded beyond 2^53. With this `fetch`
 * they get them as text, digit by digit, which goes into the path of `cancelOrder` as it is.
 * `BigInt(order.id)` is the number.
 */
export async function exactFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  const text = await response.text();
  // A quote inside of a string is escaped, so `"id":` is a name. An answer without content must
  // have no body.
  return new Response(text === '' ? null : text.replace(/"(id|petId)":\s*(-?\d+)/g, '"$1":"$2"'), response);
}
