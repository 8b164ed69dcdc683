export type {
  Adapter,
  AnswerIdentity,
  AnswerReading,
  ChatAnswer,
  ChatStreamReader,
  ChatTarget,
  EmbeddingsResult,
  ReportedUsage,
  UnsupportedRequest,
  UpstreamRequest,
  UpstreamTarget,
} from './adapter.ts';
export { loadAdapter } from './load-adapter.ts';
export {
  openUpstream,
  type Upstream,
  type UpstreamAddress,
  type UpstreamCall,
  type UpstreamHandler,
} from './transport/upstream.ts';
