import { type Adapter, bearer } from '../adapter.ts';
import { withoutEmbeddings } from '../translate/unsupported.ts';
import { classifyFailure } from './classify-failure.ts';
import { converseRequest } from './converse-request.ts';
import { ConverseStream } from './converse-stream.ts';
import { readConverse } from './read-converse.ts';

/**
 * The adapter of Amazon Bedrock's Converse. `base_url` names the region:
 * `https://bedrock-runtime.REGION.amazonaws.com`. The key is a Bedrock API key. The upstream model is the id of a model
 * or of an inference profile.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html
 */
export const bedrockAdapter: Adapter = {
  ...withoutEmbeddings,
  headers: bearer,
  // `top_k` of Claude and Mistral, `k` of Cohere, `topK` of Nova.
  callerParameters: { additionalModelRequestFields: { inferenceConfig: { topK: true }, k: true, top_k: true } },
  chatRequest: converseRequest,
  readChat: readConverse,
  openChatStream: (options) => new ConverseStream(options),
  classifyFailure,
};
