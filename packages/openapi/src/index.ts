export { buildDocument, type OpenApiDocument } from './document/build-document.ts';
export { referencePage, referenceStyle, type ShownOrigin } from './page/reference-page.ts';
export { confidentialOrigin } from './routes/confidential/confidential-origin.ts';
export { controlOrigin } from './routes/control/control-origin.ts';
export type { OriginDescription, RouteDescription } from './routes/route.ts';
