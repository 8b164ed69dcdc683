export { AnswerCache } from './answers/answer-cache.ts';
export { PublicAnswer } from './answers/public-answer.ts';
export { mayBeLarge, takeBodies } from './bodies/request-bodies.ts';
export { type BodyHolder, partOfOne } from './bodies/shared-budget.ts';
export { bearerToken, misplacedKey } from './credentials.ts';
export { codeLike, type ErrorTrace, exitMessage, traceOf } from './error-trace.ts';
export { areJsonTextsWithinBounds, readJsonBody } from './json-body.ts';
export { type Leave, leaveServer } from './leave-server.ts';
export { limitChanges } from './limit-changes.ts';
export { limitRepeats } from './limit-repeats.ts';
export { listenError, listenProblem } from './listen-problem.ts';
export { openLogOutlet } from './log-outlet.ts';
export { AddressLimit, networkOf } from './network.ts';
export { postJson } from './post-json.ts';
export { randomId } from './random-id.ts';
export { type Repeated, repeat, type Task } from './repeat.ts';
export { returnMemoryWhenQuiet } from './return-memory.ts';
export {
  type Answer,
  type AnyHandlers,
  publicCache,
  type RouteCall,
  registerRoutes,
  type Served,
  serveRoutes,
} from './serve/serve-routes.ts';
export { createServer, listenBacklog, type ServerOptions } from './server.ts';
export { createMetricsApp, serveDescription, serveHealth } from './service-routes.ts';
export {
  type AuthorityFiles,
  type BrokerConfig,
  type EarlyConfig,
  type KeeperPlace,
  readBrokerConfig,
  readBrokerConfigWithoutRedis,
  readEarlyConfig,
  type TlsConfig,
} from './settings/broker-config.ts';
export { describeSettings, type SettingDescription } from './settings/describe-settings.ts';
export type { TrustProxy } from './settings/kinds.ts';
export * as setting from './settings/kinds.ts';
export { type LoadedSettings, loadSettings, problemOfSetting } from './settings/load-settings.ts';
export { planeEnvironment } from './settings/plane-environment.ts';
export { type Environment, isSecretName, missingOf, readSettings, type Settings } from './settings/read-settings.ts';
export { inlineParts, onlyVariables, type Plane, settingPaths } from './settings/setting-paths.ts';
export {
  type FileSettings,
  placeInFile,
  readFileOrPart,
  readSettingsFile,
  settingsOf,
  unreadByStart,
} from './settings/settings-file.ts';
export { billingSchema, type SettingsOf, settingsSchemas, signInSchema } from './settings/table.ts';
export { required, StartError } from './start-error.ts';
export { openTlsFiles } from './tls-files.ts';
export { genAiBuckets, genAiOperations, genAiProvider, httpBuckets } from './tracing/conventions.ts';
export { openMetricsExport } from './tracing/metrics-export.ts';
export { type Attributes, openTracing, type RequestTrace, type Tracing } from './tracing/tracing.ts';
export { unsupportedType } from './unsupported-body.ts';
export { withObservers } from './with-observers.ts';
