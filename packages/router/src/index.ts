export { bindCatalog, type DroppedRoute } from './catalog/bind-catalog.ts';
export {
  type Catalog,
  type Model,
  modelTypeOf,
  type Route,
} from './catalog/catalog.ts';
export { type CatalogFile, catalogFileSchema } from './catalog/catalog-file.ts';
export { extendRegistry, extendsBuiltIn } from './catalog/extend-built-in.ts';
export { type CatalogFileInput, type Imported, importModels, writeCatalog } from './catalog/import/import-models.ts';
export { importLiteLlm } from './catalog/import/litellm/import-config.ts';
export { readPriceFile } from './catalog/import/price-file.ts';
export { modelList } from './catalog/model-list.ts';
export { type CatalogCheck, checkCatalog, parseCatalog } from './catalog/parse-catalog.ts';
export { matchesProvider, otherProviderId } from './catalog/provider-id.ts';
export {
  type AdapterName,
  adapterModelTypes,
  isSwitchedOn,
  keysOf,
  type MediaSwitches,
  type ProviderRegistry,
  parseRegistry,
  publicRegistry,
  type RegistryProvider,
  type RegistryPublic,
  registryFileSchema,
  registryPublicSchema,
} from './catalog/registry.ts';
export {
  type AttemptOutcome,
  type AttemptPlace,
  attemptErrorOf,
  type FailoverRow,
  failoverTable,
  nextStep,
  outcomeOfStatus,
  providerStatusOf,
} from './health/failover.ts';
export {
  type AttemptEnd,
  type MeasuredAttempt,
  type MeasuredOutput,
  measureAttempt,
} from './health/measured-attempt.ts';
export {
  expectedTokensPerSecond,
  type Measurements,
  measurementMinimum,
  type RouteMeasurement,
  reliable,
} from './health/measurement.ts';
export { type MeasurementBatch, MeasurementTallies } from './health/measurement-tallies.ts';
export { MeasurementWindow, windowHours } from './health/measurement-window.ts';
export { isPenalized, type Penalties, type Penalty, penaltyKey, penaltyRules, strike } from './health/penalty.ts';
export { RouteTally } from './health/route-tally.ts';
export { TextDensities } from './health/text-densities.ts';
export { fitToRoute } from './parameters/fit-to-route.ts';
export { hidesOutput, reasoningOn } from './parameters/route-parameters.ts';
export {
  attemptBounds,
  embeddingBounds,
  holdOf,
  imageBounds,
  noTokens,
  type RequestSize,
  speechBounds,
} from './plan/attempt-limits.ts';
export { maxSchemaBytes, measureChat, measureEmbeddings, requestedOutputTokens } from './plan/chat-needs.ts';
export { prepareRouting } from './plan/dominated.ts';
export { explainChoice } from './plan/explain-choice.ts';
export { type Explanation, explainPlan } from './plan/explain-plan.ts';
export { narrowPreferences } from './plan/narrow-preferences.ts';
export { type Needs, noNeeds, reasoningNeeds } from './plan/needs.ts';
export type { RouteStatus } from './plan/order-routes.ts';
export { planAttested } from './plan/plan-attested.ts';
export { attemptsOf, type Plan, planRequest, type RoutingRequest, routingOf } from './plan/plan-request.ts';
export { bestOfBand, type PlanningContext } from './plan/planning-context.ts';
export {
  dearestSealedPrice,
  measureSealed,
  type SealedTerms,
  sealedHold,
  sealedTerms,
} from './plan/sealed-terms.ts';
export { weakestReachableClass } from './plan/weakest-class.ts';
export type { RequestPreferences } from './policy/merge-policy.ts';
export { permitsAllOf } from './policy/permits-all-of.ts';
export { readPreferences } from './policy/read-preferences.ts';
export { type Decision, refuse } from './policy/refusal.ts';
export { asksForE2ee, canonicalPolicy, policyObject, readRequestPolicy } from './policy/request-policy.ts';
export { withinPolicy } from './policy/within-policy.ts';
