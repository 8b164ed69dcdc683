export {
  type BillingCatalog,
  type BillingSettingsAnswer,
  billingCatalogSchema,
  billingSettingsStateSchema,
  type OrderAnswer,
  type OrderPage,
  orderAnswerSchema,
  orderPageSchema,
  type RailName,
  type ReceiptAnswer,
  type ReceiptPage,
  railNames,
  receiptAnswerSchema,
  receiptPageSchema,
  type WebhookAnswer,
  webhookOutcomeSchema,
} from './answers/billing.ts';
export {
  type ChatChunk,
  type ChatCompletion,
  chatChunkSchema,
  chatCompletionSchema,
  type FinishReason,
} from './answers/chat-completion.ts';
export {
  type AppAnswer,
  appAnswerSchema,
  appListAnswerSchema,
  type GrantAnswer,
  grantAnswerSchema,
  grantListAnswerSchema,
  type InteractionAnswer,
  type InteractionDoneAnswer,
  interactionAnswerSchema,
  interactionDoneAnswerSchema,
} from './answers/connect.ts';
export {
  type AttestationTicketAnswer,
  attestationTicketAnswerSchema,
  type BalanceAnswer,
  balanceAnswerSchema,
  type CapabilitiesAnswer,
  capabilitiesAnswerSchema,
  type KeyAnswer,
  keyAnswerSchema,
  keyListAnswerSchema,
  type ModelAnswer,
  type ModelListAnswer,
  modelAnswerSchema,
  modelListAnswerSchema,
  type NewKeyAnswer,
  newKeyAnswerSchema,
  type PricingAnswer,
  pricingAnswerSchema,
  type RouteAnswer,
  routeAnswerSchema,
  type TicketAnswer,
  ticketAnswerSchema,
  type UptimeAnswer,
  type UsageDailyAnswer,
  type UsagePage,
  type UsageSums,
  uptimeAnswerSchema,
  usageDailyAnswerSchema,
  usagePageSchema,
  usageStatuses,
} from './answers/control.ts';
export { embeddingsAnswerPieces, embeddingsAnswerSchema } from './answers/embeddings.ts';
export { errorAnswerSchema } from './answers/error.ts';
export { healthAnswerSchema, readinessAnswerSchema } from './answers/health.ts';
export { type ImagesAnswer, imagesAnswerAround, imagesAnswerSchema } from './answers/images.ts';
export { providerReceiptSchema } from './answers/provider-receipt.ts';
export {
  type EligibleModelsAnswer,
  effectiveRoutingAnswerSchema,
  eligibleModelsAnswerSchema,
  type RoutingPreviewAnswer,
  routingPreviewAnswerSchema,
} from './answers/routing.ts';
export {
  type AuthMethods,
  authMethodsSchema,
  authSessionListSchema,
  authSessionSchema,
  authStatusSchema,
  authUserSchema,
  backupCodesSchema,
  emailVerifiedSchema,
  openidRedirectSchema,
  type PasskeyReview,
  type PasswordConfirmed,
  passkeyListSchema,
  passkeyReviewSchema,
  passkeySchema,
  passkeySignedInSchema,
  passkeyUpdatedSchema,
  passwordChangedSchema,
  passwordConfirmedSchema,
  resetRequestedSchema,
  secondFactorPassedSchema,
  signedInSchema,
  signedOutSchema,
  signedUpSchema,
  signInWaysSchema,
  totpEnrolmentSchema,
  webauthnOptionsSchema,
} from './answers/sessions.ts';
export { type UsageAnswer, usageAnswerSchema } from './answers/usage.ts';
export {
  type InvitationOfferAnswer,
  invitationOfferAnswerSchema,
  type NewInvitationAnswer,
  newWorkspaceInvitationAnswerSchema,
  type WaitingInvitationAnswer,
  type WorkspaceAnswer,
  type WorkspaceInvitationAnswer,
  type WorkspaceMemberAnswer,
  waitingInvitationAnswerSchema,
  waitingInvitationListAnswerSchema,
  workspaceAnswerSchema,
  workspaceInvitationAnswerSchema,
  workspaceInvitationListAnswerSchema,
  workspaceListAnswerSchema,
  workspaceMemberAnswerSchema,
  workspaceMemberListAnswerSchema,
} from './answers/workspaces.ts';
export { type AppScope, appScopeSchema, appScopes } from './app-scopes.ts';
export {
  type E2eeFamilyName,
  e2eeFamilies,
  type RelayHeaders,
  type RelayRule,
  type RelayVariant,
  relayHeaders,
  relayRules,
} from './e2ee/relay-rules.ts';
export { type SealedChat, sealedChatSchema } from './e2ee/sealed-chat.ts';
export {
  FrameMeter,
  framedTextBytes,
  leastPackedTokens,
  sealedAnswerBytes,
  sealedContentBytes,
  sealedOutputSlack,
} from './e2ee/sealed-length.ts';
export { type SealedQuestion, sealedQuestionSchema } from './e2ee/sealed-question.ts';
export {
  type ErrorDetails,
  type ErrorEnvelope,
  type ErrorRow,
  type ErrorType,
  errorEnvelope,
  errorHeaders,
  errorTable,
  ServiceError,
} from './errors.ts';
export { formatResetDuration, headerNames } from './headers.ts';
export { autoModelId, type ModelReference, type ModelSuffix, parseModelReference } from './model-id.ts';
export { comparePrivacy, type PrivacyClass, privacyClasses, strongest } from './privacy.ts';
export { privacyClassSchema } from './privacy-schema.ts';
export type { ReasoningDetail } from './reasoning-details.ts';
export {
  type AttestationTicketRequest,
  attestationTicketRequestSchema,
  teeAttestationQuerySchema,
  teeAttestationRequestSchema,
} from './requests/attestation-request.ts';
export {
  type BillingPageQuery,
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
  answerInteractionSchema,
  type CreateApp,
  createAppSchema,
  grantListQuerySchema,
  type UpdateApp,
  updateAppSchema,
} from './requests/connect-request.ts';
export { countEmbeddingInputs } from './requests/embeddings-input.ts';
export { type EmbeddingsRequest, embeddingsRequestSchema } from './requests/embeddings-request.ts';
export { type ImageRequest, type ImageSettings, imageRequestSchema, imageSettings } from './requests/image-request.ts';
export { isJsonWithinDepth, maxJsonDepth } from './requests/json-object.ts';
export {
  type CreateKey,
  createKeySchema,
  keyListQuerySchema,
  type UpdateKey,
  updateKeySchema,
} from './requests/keys-request.ts';
export { type Message, maxMessages, messageSchema } from './requests/messages.ts';
export { nonceSchema } from './requests/nonce.ts';
export { parseRequest, problemOf, requestError } from './requests/parse-request.ts';
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
export {
  type MaxPrice,
  maxPriceSchema,
  type ProviderPolicy,
  type ProviderPolicyObject,
  providerIdPattern,
  providerIdSchema,
  providerPolicySchema,
  type RequestSort,
  requestSorts,
} from './requests/provider-policy.ts';
export { isSameReasoning, type ReasoningSelection, reasoningSelection } from './requests/reasoning.ts';
export {
  eligibleModelsRequestSchema,
  type RoutingPreview,
  routingPreviewRequestSchema,
  workspaceQuerySchema,
} from './requests/routing-request.ts';
export {
  changeEmailSchema,
  changePasswordSchema,
  emailOnlySchema,
  openidSignInSchema,
  passkeyIdSchema,
  passkeySignInSchema,
  passwordOnlySchema,
  registerPasskeySchema,
  renamePasskeySchema,
  resetPasswordSchema,
  revokeSessionSchema,
  secondFactorCodeSchema,
  signInSchema,
  signUpSchema,
  updateUserSchema,
  verifyEmailSchema,
} from './requests/sessions-request.ts';
export {
  maxSpeechCharacters,
  type SpeechRequest,
  type SpeechSettings,
  speechRequestSchema,
  speechSettings,
} from './requests/speech-request.ts';
export { type Operation, operations, type TicketRequest, ticketRequestSchema } from './requests/ticket-request.ts';
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
  createInvitationSchema,
  invitationTokenSchema,
  type MemberRole,
  memberRoleSchema,
  workspaceNameSchema,
} from './requests/workspace-request.ts';
export { SseEventTooLargeError, SseParser, type SseParserOptions } from './sse/parser.ts';
export { sseComment, sseDone, sseFrame } from './sse/writer.ts';
export { isRoleAtLeast, type WorkspaceRole, workspaceRoles } from './workspace-role.ts';
