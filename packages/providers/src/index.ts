export type {
  Adapter,
  AnswerReader,
  AnswerReading,
  ChatStreamReader,
  ChatTarget,
  RelayedRequest,
  ReportedUsage,
  SpeechAdapter,
  UnsupportedRequest,
  UpstreamRequest,
} from './adapter.ts';
export { BufferedReader, shownUsage } from './adapter.ts';
export { parameterPaths, refusedParameter } from './caller-parameters.ts';
export { signingAlgorithm } from './evidence/dstack-report.ts';
export { evidenceFamilies } from './evidence/evidence-families.ts';
export { type EvidenceQuestion, NoEvidence, queryOf, type ShownMachine } from './evidence/evidence-question.ts';
export { loadAdapter } from './load-adapter.ts';
export { openSealedMeter, type SealedMeter } from './sealed/sealed-meter.ts';
export { type Documents, openDocuments } from './transport/documents.ts';
export { KeyRing, type ProviderKey } from './transport/key-ring.ts';
export { attestedPool, isPrivateAddress, privatePool } from './transport/pool.ts';
export {
  openUpstream,
  type Upstream,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamHeaders,
} from './transport/upstream.ts';
