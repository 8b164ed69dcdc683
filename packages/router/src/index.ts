export { bindCatalog, type DroppedRoute } from './catalog/bind-catalog.ts';
export {
  type Catalog,
  type Model,
  type ModelType,
  modelTypeOf,
  type Route,
  type RouteCapabilities,
} from './catalog/catalog.ts';
export { type CatalogFile, catalogFileSchema } from './catalog/catalog-file.ts';
export { modelList } from './catalog/model-list.ts';
export { type ParsedCatalog, parseCatalog } from './catalog/parse-catalog.ts';
export { matchesProvider, otherProviderId } from './catalog/provider-id.ts';
export {
  type AdapterName,
  isSwitchedOn,
  type MediaSwitches,
  type ProviderRegistry,
  parseRegistry,
  publicRegistry,
  type RegistryProvider,
  type RegistryPublic,
  registryPublicSchema,
} from './catalog/registry.ts';
export { type FileProblem, type FileResult, readYamlAs, type YamlSource } from './catalog/yaml-source.ts';
export {
  type AttemptOutcome,
  type FailoverRow,
  failoverTable,
  type NextStep,
  nextStep,
  outcomeOfStatus,
} from './health/failover.ts';
export { type Measurements, measurementMinimum, type RouteMeasurement, reliable } from './health/measurement.ts';
export {
  type Counts,
  countAttempt,
  type MeasuredAttempt,
  measurementsOf,
  type RouteStatistics,
  summarize,
} from './health/measurement-counts.ts';
export { isPenalized, type Penalties, type Penalty, penaltyKey, penaltyRules, strike } from './health/penalty.ts';
export { attemptBounds, embeddingBounds, holdOf, outputCeiling, type RequestSize } from './plan/attempt-limits.ts';
export { measureChat, measureEmbeddings, requestedOutputTokens } from './plan/chat-needs.ts';
export { type Exclusion, type Explanation, explainPlan } from './plan/explain-plan.ts';
export { imageBounds, noTokens, speechBounds } from './plan/media-needs.ts';
export { type Needs, noNeeds } from './plan/needs.ts';
export type { RouteStatus } from './plan/order-routes.ts';
export { attemptsOf, type Choice, type Plan, planRequest, type RoutingRequest } from './plan/plan-request.ts';
export { bestOfBand, type PlanningContext } from './plan/planning-context.ts';
export { weakestReachableClass } from './plan/weakest-class.ts';
export { type MergedPolicy, mergePolicy, type Sort } from './policy/merge-policy.ts';
export { initialPreferences, type Preferences, preferencesSchema } from './policy/preferences.ts';
export { readPreferences } from './policy/read-preferences.ts';
export type { Decision, Refusal } from './policy/refusal.ts';
export { canonicalPolicy, type RequestPolicy, readRequestPolicy } from './policy/request-policy.ts';
