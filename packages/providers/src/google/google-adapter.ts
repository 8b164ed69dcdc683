import type { AttemptOutcome } from '@sotto/router';
import type { EmbeddingsRequest } from '@sotto/wire';
import type {
  Adapter,
  AnswerReader,
  ChatStreamOptions,
  EmbeddingsResult,
  UnsupportedRequest,
  UpstreamRequest,
  UpstreamTarget,
} from '../adapter.ts';
import { asArray, asCount, asObject, type JsonObject, jsonBody } from '../json.ts';
import type { ToolCallPiece } from '../openai/content.ts';
import { ToolCallIds } from '../openai/tool-call-ids.ts';
import { promptUsage } from '../openai/usage.ts';
import { JsonEventStream } from '../translate/json-event-stream.ts';
import { embeddingTexts } from '../translate/unsupported.ts';
import { VectorsReader } from '../vectors-reader.ts';
import { classifyEmbedded, classifyFailure } from './classify-failure.ts';
import { generateRequest } from './generate-request.ts';
import { type Candidate, candidateFailures, finishReasonOf, outcomeWithout, readCandidate } from './read-candidate.ts';
import { readGenerated, readUsageMetadata } from './read-generated.ts';

/** The most texts that one call may have. */
const mostTexts = 100;

/** @see https://ai.google.dev/api/embeddings#method:-models.batchembedcontents */
function embedRequest(request: EmbeddingsRequest, target: UpstreamTarget): UpstreamRequest | UnsupportedRequest {
  const texts = embeddingTexts(request, mostTexts);
  if ('unsupported' in texts) return texts;
  const model = `models/${target.upstreamModel}`;
  const requests = texts.map((text) => ({
    model,
    content: { parts: [{ text }] },
    outputDimensionality: request.dimensions ?? undefined,
  }));
  return {
    path: `/models/${encodeURIComponent(target.upstreamModel)}:batchEmbedContents`,
    body: jsonBody({ requests }),
    accept: 'application/json',
  };
}

/** Reads the vectors in the order of the texts. Google does not always report their token usage. */
const openEmbedded = (request: EmbeddingsRequest): AnswerReader<EmbeddingsResult> =>
  new VectorsReader(
    request,
    ({ error, embeddings, usageMetadata }) => ({
      failure: error === undefined ? undefined : classifyEmbedded(error),
      entries: asArray(embeddings)?.map((entry) => ({ vector: asObject(entry)?.values })),
      reported: promptUsage(asCount(asObject(usageMetadata)?.promptTokenCount)),
    }),
    // Google does not rescale vectors that it cuts to fewer dimensions.
    { scales: true },
  );

/** Reads the event stream of `streamGenerateContent`. It has no terminator and ends when the connection closes. */
class GenerateStream extends JsonEventStream {
  readonly #callIds: ToolCallIds;

  constructor(options: ChatStreamOptions) {
    super(options);
    this.#callIds = new ToolCallIds(options.identity.id);
  }

  protected override event(raw: JsonObject): void {
    const candidate = readCandidate(raw, this.#callIds);
    const outcome = candidate === undefined ? outcomeWithout(raw) : undefined;
    if (outcome !== undefined) this.fail(outcome);
    else if (candidate !== undefined) this.#candidate(candidate);
    this.report(raw.usageMetadata, readUsageMetadata);
  }

  #candidate({ content, reasoning, details, toolCalls, finishReason }: Candidate): void {
    if (finishReason !== undefined && candidateFailures.has(finishReason)) {
      this.fail('malformed_answer');
      return;
    }
    this.write({ content, reasoning, details, toolCalls });
    if (finishReason !== undefined) this.finish(finishReasonOf(finishReason));
  }

  /** Nothing: Google sends whole calls. */
  protected override closeCalls(): readonly ToolCallPiece[] {
    return [];
  }

  protected override failureIn(body: JsonObject): AttemptOutcome | undefined {
    return outcomeWithout(body);
  }
}

/** The adapter of the Gemini API. `base_url`: `https://generativelanguage.googleapis.com/v1beta`. */
export const googleAdapter: Adapter = {
  headers: (apiKey) => (apiKey === undefined ? [] : ['x-goog-api-key', apiKey]),
  callerParameters: { generationConfig: { mediaResolution: true, topK: true }, safetySettings: true },
  chatRequest: generateRequest,
  readChat: readGenerated,
  openChatStream: (options) => new GenerateStream(options),
  embeddingsRequest: embedRequest,
  openEmbeddings: openEmbedded,
  classifyFailure,
};
