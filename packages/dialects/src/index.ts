export { brokenOff, type ChatFailure, readFailure } from './chat-failure.ts';
export { type AnswerChunk, ChatStreamReader } from './chat-stream.ts';
export { geminiFailure } from './gemini/errors.ts';
export { geminiModel, geminiModels } from './gemini/models.ts';
export type { GeminiCall } from './gemini/read-request.ts';
export { countGeminiTokens, decodedName, geminiCall, translateGemini } from './gemini/translate.ts';
export { parseExact } from './json.ts';
export { countTokens } from './messages/count-tokens.ts';
export { messagesFailure } from './messages/errors.ts';
export { messagesModels } from './messages/models.ts';
export { translateMessages } from './messages/translate.ts';
export { catalogModel, type ModelNames, type ModelRule, readModelRule } from './model-map.ts';
export { type OfferedModel, readOfferedModels } from './offered-model.ts';
export { responsesFailure } from './responses/failure-answer.ts';
export { KeptAnswers } from './responses/kept-answers.ts';
export { readResponsesRequest } from './responses/read-request.ts';
export {
  prepareResponse,
  type ResponsesOptions,
  translateCompaction,
  translateResponses,
} from './responses/translate.ts';
export {
  type ChatAnswer,
  type Models,
  type Translation,
  UnwritableAnswer,
  type WrittenAnswer,
} from './translation.ts';
