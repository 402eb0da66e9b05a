export { createOpenApiDocument, type OpenApiDocument, serializeOpenApiDocument } from './document.js';
