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
  pathOf,
  type QueryInput,
  type QueryOf,
} from './contract.ts';
export { buildDocument, type OpenApiDocument } from './document/build-document.ts';
export type { RouteDescription } from './route.ts';
export type { pageContracts, serviceContracts } from './service.ts';
