export type {
  Adapter,
  AnswerIdentity,
  AnswerReader,
  AnswerReading,
  ChatAnswer,
  ChatStreamReader,
  ChatTarget,
  EmbeddingsResult,
  ImageAdapter,
  ImageResult,
  RelayedRequest,
  ReportedUsage,
  SpeechAdapter,
  UnsupportedRequest,
  UpstreamRequest,
  UpstreamTarget,
} from './adapter.ts';
export { BufferedReader } from './buffered-reader.ts';
export { type CallerParameters, parameterPaths, refusedParameter } from './caller-parameters.ts';
export { loadAdapter } from './load-adapter.ts';
export { shownUsage } from './shown-usage.ts';
export { type AttestedTls, attestedPool } from './transport/attested-pool.ts';
export { type Documents, openDocuments, type ProviderDocument } from './transport/documents.ts';
export {
  openUpstream,
  type Upstream,
  type UpstreamAddress,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamHeaders,
} from './transport/upstream.ts';
