export type {
  Adapter,
  AnswerIdentity,
  AnswerReading,
  ChatAnswer,
  ChatStreamReader,
  EmbeddingsResult,
  ReportedUsage,
  UpstreamRequest,
  UpstreamTarget,
} from './adapter.ts';
export { openAiAdapter } from './openai/openai-adapter.ts';
export {
  openUpstream,
  type Upstream,
  type UpstreamAddress,
  type UpstreamCall,
  type UpstreamHandler,
} from './transport/upstream.ts';
