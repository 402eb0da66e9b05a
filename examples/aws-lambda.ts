/**
 * Runs the service in AWS Lambda, behind API Gateway (payload 2.0) or a function URL. Each event
 * becomes a Request for a fetch handler. The client's address is the one that the gateway reports.
 * Except for the stage `$default`, the path of an event begins with the stage: for the stage `prod`,
 * create the service with `basePath: '/prod/v1'`.
 *
 *     export { handler } from './aws-lambda.ts';
 */
import { fetchHandler } from 'store-orders/fetch';
import { service } from './orders.ts';

/** The fields of an event that are used here. */
export interface LambdaEvent {
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestContext: { readonly http: { readonly method: string; readonly sourceIp: string } };
}

type Handle = (request: Request, event: LambdaEvent) => Response | Promise<Response>;

/**
 * Converts an event to a Request, and the Response to a result for Lambda. The Request has no
 * content, because the service does not read it. If your host reads content, add it here.
 */
export const lambda = (handle: Handle) => async (event: LambdaEvent) => {
  const { rawPath, rawQueryString, headers, requestContext } = event;
  const url = `https://${headers['host'] ?? 'lambda'}${rawPath}?${rawQueryString}`;
  const response = await handle(new Request(url, { method: requestContext.http.method, headers }), event);
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    // Encoded in base64, because a long list may be compressed.
    body: Buffer.from(await response.arrayBuffer()).toString('base64'),
    isBase64Encoded: true,
  };
};

const orders = fetchHandler(service, { clientAddress: (_, event: LambdaEvent) => event.requestContext.http.sourceIp });

export const handler = lambda((request, event) => {
  if (service.owns(request.url)) return orders(request, event);
  const isHome = new URL(request.url).pathname === '/';
  return new Response(isHome ? 'the host\n' : null, { status: isHome ? 200 : 404 });
});
