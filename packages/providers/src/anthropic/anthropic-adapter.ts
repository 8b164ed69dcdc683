import type { Adapter } from '../adapter.ts';
import { withoutEmbeddings } from '../translate/unsupported.ts';
import { classifyFailure } from './classify-failure.ts';
import { messagesRequest } from './messages-request.ts';
import { MessagesStream } from './messages-stream.ts';
import { readMessage } from './read-message.ts';

/** The version of the Messages API that this adapter speaks. */
const apiVersion = ['anthropic-version', '2023-06-01'] as const;

/** The adapter of Anthropic's Messages API. `base_url`: `https://api.anthropic.com/v1`. */
export const anthropicAdapter: Adapter = {
  ...withoutEmbeddings,
  headers: (apiKey) => [...apiVersion, ...(apiKey === undefined ? [] : ['x-api-key', apiKey])],
  callerParameters: { top_k: true },
  chatRequest: messagesRequest,
  readChat: readMessage,
  openChatStream: (options) => new MessagesStream(options),
  classifyFailure,
};
