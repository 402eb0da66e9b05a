export { createOpenApiDocument, type OpenApiDocument, type OpenApiOperation, type OpenApiOptions } from './document.js';
