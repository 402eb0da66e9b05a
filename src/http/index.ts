export type { AdmissionOptions, Authenticate, Principal } from './admission.js';
export { type AddressedRequest, forwardedAddress } from './client-address.js';
export { ERROR_CODES, type ErrorCode, type ErrorObject } from './errors.js';
export type { ClientAddress, ReplyMessage } from './exchange.js';
export { createKeyAuthenticator } from './key-authenticator.js';
export { type NodeHandler, type NodeMountOptions, type NodeRequest, nodeHandler } from './mounts/node.js';
export type { Reply } from './reply.js';
export type { RequestHead } from './request-head.js';
export {
  createOrderService,
  type OrderService,
  type OrderServiceOptions,
  type RefusalCode,
} from './service.js';
