export {
  type AnswerOf,
  type BodyInput,
  type BodyOf,
  type Contract,
  type Contracts,
  contracts,
  type Identified,
  type ParamsOf,
  type PathOf,
  type QueryInput,
  type QueryOf,
} from './contract.ts';
export { type BodyField, type BodyFields, bodyFields } from './document/body-fields.ts';
export { buildDocument, type OpenApiDocument, responseOf } from './document/build-document.ts';
export { limitOf, type RateLimitName } from './limits.ts';
export { type Maxima, type Maximum, type MaximumName, maxima, usualMaxima } from './maxima.ts';
export type { RouteDescription } from './route.ts';
export { descriptionContracts, documentationContracts, healthContracts, pageContracts } from './service.ts';
