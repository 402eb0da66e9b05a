/** The entry `store-orders/json`: JSON with exact ids, for servers and browsers. */
export { JsonSyntaxError, parseJson, parseJsonArray, serializeOrder, serializeRecord } from './json.js';
export { parseOrderId } from './order.js';
export { ORDER_FIELDS } from './record.js';
