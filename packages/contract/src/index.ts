export {
  type AnswerOf,
  type BodyInput,
  type BodyOf,
  type Contract,
  type Contracts,
  contracts,
  type Identified,
  type ParamsOf,
  type QueryInput,
  type QueryOf,
  type RouteKey,
} from './contract.ts';
export { buildDocument, type OpenApiDocument } from './document/build-document.ts';
export { referencePage, referenceStyle, type ShownOrigin } from './page/reference-page.ts';
export type { OriginDescription, RouteDescription } from './route.ts';
