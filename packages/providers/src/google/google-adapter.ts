import type { Adapter } from '../adapter.ts';
import { classifyFailure } from './classify-failure.ts';
import { embedRequest, openEmbedded } from './embed-contents.ts';
import { generateRequest } from './generate-request.ts';
import { GenerateStream } from './generate-stream.ts';
import { readGenerated } from './read-generated.ts';

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
