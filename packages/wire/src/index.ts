export { errorAnswerSchema } from './answers/error.ts';
export {
  type ChatChunk,
  type ChatCompletion,
  chatChunkSchema,
  chatCompletionSchema,
  embeddingsAnswerPieces,
  embeddingsAnswerSchema,
  type FinishReason,
  type ImagesAnswer,
  imagesAnswerAround,
  imagesAnswerSchema,
  type UsageAnswer,
  usageAnswerSchema,
} from './answers/inference.ts';
export {
  type ModelAnswer,
  type ModelListAnswer,
  modelAnswerSchema,
  modelListAnswerSchema,
  type PricingAnswer,
  pricingAnswerSchema,
  type RouteAnswer,
  routeAnswerSchema,
} from './answers/models.ts';
export { bindingSentences } from './channel-bindings.ts';
export {
  base64urlField,
  type CreditIssuer,
  creditChallenge,
  creditInput,
  creditIssuerSchema,
  creditNusd,
  creditSpki,
  creditsPerBatch,
  nonceBytes,
  pkcs1Of,
  signatureBytes,
  signedCreditsSchema,
  tokenInputBytes,
} from './credits.ts';
export { type E2eeProtocolNotes, e2eeProtocolNotes } from './e2ee/protocol-notes.ts';
export {
  canRead,
  defaultFamilies,
  type E2eeProtocol,
  type E2eeProtocolName,
  e2eeProtocols,
  isRefusedByDefault,
  type RelayAttack,
  relayAttacks,
  relayAttacksOn,
  relayAttacksOnFamily,
  relaySentence,
} from './e2ee/protocols.ts';
export {
  type E2eeFamilyName,
  e2eeFamilies,
  type RelayRule,
  type RelayVariant,
  relayHeaders,
  relayRules,
} from './e2ee/relay-rules.ts';
export { type SealedChat, type SealedQuestion, sealedChatSchema, sealedQuestionSchema } from './e2ee/sealed-chat.ts';
export {
  FrameMeter,
  framedTextBytes,
  leastPackedTokens,
  sealedAnswerBytes,
  sealedContentBytes,
  sealedOutputSlack,
} from './e2ee/sealed-length.ts';
export { errorNotes, usageErrorNotes } from './error-notes.ts';
export { type ErrorEnvelope, type ErrorType, errorEnvelope, errorHeaders, errorTable, ServiceError } from './errors.ts';
export {
  type ExactBudget,
  exactBudget,
  exactInteger,
  inOrder,
  parseExactJson,
  unboundedExactness,
  withExactMembers,
} from './exact-json.ts';
export { nonceSchema, privacyClassSchema } from './field-schemas.ts';
export { forbiddenKind } from './forbidden-kind.ts';
export { formatResetDuration, headerNames } from './headers.ts';
export { asArray, asNumber, asObject, asObjects, asString, isObject, type JsonObject, parseJson } from './json.ts';
export {
  allowsModel,
  assertModelsAllowed,
  autoModelId,
  type ModelRules,
  type ModelSuffix,
  parseModelReference,
} from './model-id.ts';
export { matchesAny } from './model-pattern.ts';
export { isOwnSecret, ownSecretProblem } from './own-secret.ts';
export { preferredModel } from './preferred-model.ts';
export { comparePrivacy, type PrivacyClass, privacyClasses, strongest } from './privacy.ts';
export { repeatedName } from './repeated-name.ts';
export { type ChatRequest, chatRequestSchema, providerParameters } from './requests/chat-request.ts';
export { maxAuthBytes, maxContentBytes, maxControlBytes } from './requests/content-bounds.ts';
export {
  countEmbeddingInputs,
  type EmbeddingsRequest,
  embeddingsRequestSchema,
} from './requests/embeddings-request.ts';
export { isJsonWithinDepth, maxJsonDepth } from './requests/json-object.ts';
export {
  type ImageRequest,
  type ImageSettings,
  imageRequestSchema,
  imageSettings,
  maxSpeechCharacters,
  type SpeechRequest,
  type SpeechSettings,
  speechRequestSchema,
  speechSettings,
} from './requests/media-request.ts';
export { imageUrlSchema, type Message, messageSchema } from './requests/messages.ts';
export { modelIdField, modelsField } from './requests/model-ids.ts';
export { faultsOf, parseRequest, problemOf, requestError } from './requests/parse-request.ts';
export {
  type Boundary,
  boundaries,
  boundaryClass,
  boundarySchema,
  initialPreferences,
  type Preferences,
  preferencesSchema,
} from './requests/preferences.ts';
export { allowance, expandedSchemaBytes, hasReferences, templateTokensAtMost } from './requests/prompt-size.ts';
export {
  type MaxPrice,
  maxPriceSchema,
  type ProviderPolicy,
  type ProviderPolicyObject,
  providerIdSchema,
  providerPolicySchema,
  type RequestSort,
  requestSorts,
} from './requests/provider-policy.ts';
export {
  isSameReasoning,
  type ReasoningDetail,
  type ReasoningSelection,
  reasoningDetailSchema,
  reasoningSelection,
} from './requests/reasoning.ts';
export {
  maxTicketsTogether,
  type Operation,
  operationAt,
  operationPaths,
  operations,
  type TicketRequest,
  ticketRequestSchema,
} from './requests/ticket-request.ts';
export { omittable } from './requests/without-nulls.ts';
export { sentStatus } from './sent-status.ts';
export { SseEventTooLargeError, SseParser, sseDone, sseFrame, sseKeepAlive } from './sse.ts';
export { assertStorable, isStorable } from './storable.ts';
export {
  type AttemptError,
  attemptErrors,
  firstTokenBoundsMs,
  type ProviderStatus,
  providerStatuses,
  type RefusalKind,
  refusalKinds,
  type UsageError,
  usageErrors,
  usageStatuses,
} from './usage-words.ts';
export { type KnownOrigins, type OriginName, pathsOfOrigin, wrongTurn } from './wrong-turns.ts';
