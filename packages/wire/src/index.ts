export {
  type AccountAnswer,
  type AccountPage,
  type ActAnswer,
  type ActName,
  type ActPage,
  accountAnswerSchema,
  accountPageSchema,
  actPageSchema,
  type BooksAnswer,
  booksAnswerSchema,
  ownAccountAnswerSchema,
  type ProviderListAnswer,
  providerListAnswerSchema,
  type RejectedSettlementListAnswer,
  rejectedSettlementListAnswerSchema,
  type SignUpInvitationAnswer,
  signUpInvitationAnswerSchema,
  signUpPolicyAnswerSchema,
} from './answers/administration.ts';
export {
  type BillingCatalog,
  type BillingSettingsAnswer,
  billingCatalogSchema,
  billingSettingsStateSchema,
  type MonthlyGrantAnswer,
  monthlyGrantAnswerSchema,
  type OperatorOrderPage,
  type OrderAnswer,
  type OrderPage,
  operatorOrderPageSchema,
  orderAnswerSchema,
  orderPageSchema,
  type PayTo,
  type RailName,
  type ReceiptAnswer,
  type ReceiptPage,
  railNames,
  receiptAnswerSchema,
  receiptPageSchema,
  type WalletOrder,
  type WebhookAnswer,
  walletOrderSchema,
  webhookOutcomeSchema,
} from './answers/billing.ts';
export {
  type AppAnswer,
  appAnswerSchema,
  appListAnswerSchema,
  type GrantAnswer,
  grantAnswerSchema,
  grantListAnswerSchema,
  type InteractionAnswer,
  interactionAnswerSchema,
  interactionDoneAnswerSchema,
} from './answers/connect.ts';
export {
  type AttemptError,
  type AttestationTicketAnswer,
  attemptErrors,
  attestationTicketAnswerSchema,
  balanceAnswerSchema,
  type CapabilitiesAnswer,
  capabilitiesAnswerSchema,
  firstTokenBoundsMs,
  type KeyAnswer,
  keyAnswerSchema,
  keyListAnswerSchema,
  type MeasurementsAnswer,
  type ModelAnswer,
  type ModelListAnswer,
  measurementsAnswerSchema,
  modelAnswerSchema,
  modelListAnswerSchema,
  newKeyAnswerSchema,
  type PricingAnswer,
  pricingAnswerSchema,
  type RouteAnswer,
  routeAnswerSchema,
  type StatusAnswer,
  statusAnswerSchema,
  type TicketAnswer,
  ticketAnswerSchema,
  type UptimeAnswer,
  type UsageDailyAnswer,
  type UsageError,
  type UsagePage,
  type UsageSums,
  uptimeAnswerSchema,
  usageDailyAnswerSchema,
  usageErrors,
  usagePageSchema,
  usageStatuses,
} from './answers/control.ts';
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
  providerReceiptSchema,
  type UsageAnswer,
  usageAnswerSchema,
} from './answers/inference.ts';
export {
  type EligibleModelsAnswer,
  effectiveRoutingAnswerSchema,
  eligibleModelsAnswerSchema,
  type RoutingPreviewAnswer,
  routingPreviewAnswerSchema,
} from './answers/routing.ts';
export { errorAnswerSchema, healthAnswerSchema, readinessAnswerSchema } from './answers/service.ts';
export * as authAnswers from './answers/sessions.ts';
export {
  type AlertWebhookAnswer,
  alertWebhookAnswerSchema,
  type BudgetAnswer,
  budgetAnswerSchema,
  budgetListAnswerSchema,
  type InvitationOfferAnswer,
  type InvitationPreview,
  invitationOfferAnswerSchema,
  invitationPreviewSchema,
  type NewAlertWebhookAnswer,
  newAlertWebhookAnswerSchema,
  newWorkspaceInvitationAnswerSchema,
  type WaitingInvitationAnswer,
  type WebhookDelivery,
  type WorkspaceAnswer,
  type WorkspaceInvitationAnswer,
  type WorkspaceMemberAnswer,
  waitingInvitationAnswerSchema,
  waitingInvitationListAnswerSchema,
  webhookDeliverySchema,
  workspaceAnswerSchema,
  workspaceInvitationAnswerSchema,
  workspaceInvitationListAnswerSchema,
  workspaceListAnswerSchema,
  workspaceMemberAnswerSchema,
  workspaceMemberListAnswerSchema,
} from './answers/workspaces.ts';
export {
  type CreditIssuer,
  closeWalletSchema,
  createWalletSchema,
  creditChallenge,
  creditCodeSchema,
  creditInput,
  creditIssuerSchema,
  creditNusd,
  creditSpki,
  creditsPerLot,
  nonceBytes,
  pkcs1Of,
  signedCreditsSchema,
  tokenInputBytes,
  withdrawCreditsSchema,
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
export {
  type ErrorEnvelope,
  type ErrorType,
  errorEnvelope,
  errorHeaders,
  errorTable,
  ServiceError,
} from './errors.ts';
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
export { formatResetDuration, headerNames } from './headers.ts';
export { asArray, asNumber, asObject, asObjects, asString, type JsonObject, parseJson } from './json.ts';
export { assertModelsAllowed, autoModelId, type ModelSuffix, parseModelReference } from './model-id.ts';
export { isOwnSecret, ownSecretProblem } from './own-secret.ts';
export { preferredModel } from './preferred-model.ts';
export { comparePrivacy, type PrivacyClass, privacyClasses, strongest } from './privacy.ts';
export { repeatedName } from './repeated-name.ts';
export {
  type AccountQuery,
  type ActQuery,
  accountQuerySchema,
  actQuerySchema,
  creditAccountSchema,
  dismissSettlementSchema,
  inviteToSignUpSchema,
  operatorActQuerySchema,
  setMonthlyGrantSchema,
} from './requests/administration-request.ts';
export {
  type BillingSettings,
  billingPageQuerySchema,
  billingSettingsSchema,
  type CreateOrder,
  createOrderSchema,
  receiptQuerySchema,
} from './requests/billing-request.ts';
export { type ChatRequest, chatRequestSchema, providerParameters } from './requests/chat-request.ts';
export {
  type AnswerInteraction,
  type AppScope,
  answerInteractionSchema,
  appScopeSchema,
  appScopes,
  type CreateApp,
  createAppSchema,
  grantListQuerySchema,
  type UpdateApp,
  updateAppSchema,
} from './requests/connect-request.ts';
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
export { listQuerySchema } from './requests/page-query.ts';
export { faultsOf, parseRequest, problemOf, requestError } from './requests/parse-request.ts';
export {
  type Boundary,
  boundaries,
  boundaryClass,
  boundarySchema,
  initialPreferences,
  type Preferences,
  preferencesRequestSchema,
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
  eligibleModelsRequestSchema,
  type RoutingPreview,
  routingPreviewRequestSchema,
  workspaceQuerySchema,
} from './requests/routing-request.ts';
export * as authRequests from './requests/sessions-request.ts';
export {
  type AttestationTicketRequest,
  attestationTicketRequestSchema,
  maxTicketsTogether,
  type Operation,
  operationAt,
  operationPaths,
  operations,
  type TicketRequest,
  teeAttestationQuerySchema,
  teeAttestationRequestSchema,
  ticketRequestSchema,
} from './requests/ticket-request.ts';
export {
  type UsageDailyQuery,
  type UsageGroup,
  type UsageQuery,
  uptimeQuerySchema,
  usageDailyQuerySchema,
  usageGroups,
  usageQuerySchema,
} from './requests/usage-query.ts';
export {
  type CreateInvitation,
  type CreateKey,
  createInvitationSchema,
  createKeySchema,
  invitationTokenSchema,
  keyListQuerySchema,
  type MemberRole,
  memberRoleSchema,
  rotateKeySchema,
  type SetAlertWebhook,
  type SetBudget,
  setAlertWebhookSchema,
  setBudgetSchema,
  type UpdateKey,
  updateKeySchema,
  workspaceNameSchema,
} from './requests/workspace-request.ts';
export { sentStatus } from './sent-status.ts';
export { SseEventTooLargeError, SseParser, sseDone, sseFrame } from './sse.ts';
export { assertStorable, isStorable } from './storable.ts';
export { isRoleAtLeast, type WorkspaceRole, workspaceRoles } from './workspace-role.ts';
export { type KnownOrigins, type OriginName, pathsOfOrigin, wrongTurn } from './wrong-turns.ts';
