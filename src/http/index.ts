export type { Authenticate, Principal } from './admission.js';
export type { ReplyMessage } from './channel.js';
export { type AddressedRequest, forwardedAddress } from './client-address.js';
export type { ErrorCode } from './errors.js';
export { createKeyAuthenticator } from './key-authenticator.js';
export { type NodeHandler, nodeHandler } from './mounts/node.js';
export type { Reply } from './reply.js';
export type { RequestHead } from './request.js';
export {
  createOrderService,
  type OrderService,
  type OrderServiceOptions,
} from './service/service.js';
