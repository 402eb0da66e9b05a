export type { AdmissionOptions, Authenticate, Principal } from './admission.js';
export type { ReplyMessage } from './channel.js';
export { type AddressedRequest, addressKey, type ClientAddress, forwardedAddress } from './client-address.js';
export { ERROR_CODES, type ErrorCode, type ErrorObject } from './errors.js';

export { createKeyAuthenticator } from './key-authenticator.js';
export { type NodeHandler, type NodeMountOptions, type NodeRequest, nodeHandler } from './mounts/node.js';
export type { Reply } from './reply.js';
export type { RefusalCode, RequestHead } from './request.js';
export {
  createOrderService,
  type OrderService,
  type OrderServiceOptions,
} from './service.js';
