import type { Adapter } from '../adapter.ts';
import { bearer } from '../bearer.ts';
import { openAiParameters } from './caller-parameters.ts';
import { chatRequest } from './chat-request.ts';
import { OpenAiChatStream } from './chat-stream.ts';
import { classifyFailure } from './classify-failure.ts';
import { embeddingsRequest, openEmbeddings } from './embeddings.ts';
import { openAiImages } from './images.ts';
import { readChat } from './read-chat.ts';
import { openAiSpeech } from './speech.ts';

/** The adapter of every provider that speaks the OpenAI shape. */
export const openAiAdapter: Adapter = {
  headers: bearer,
  callerParameters: openAiParameters,
  chatRequest,
  readChat,
  openChatStream: (options) => new OpenAiChatStream(options),
  embeddingsRequest,
  openEmbeddings,
  images: openAiImages,
  speech: openAiSpeech,
  classifyFailure,
};
