import { type ChatChunk, SseParser, type UsageAnswer } from '@sotto/wire';
import { ApiError } from '../../../api/call.ts';

/** A piece of an answer that streams. */
export interface StreamPiece {
  readonly text: string;
  readonly reasoning: string;
  readonly model: string;
  readonly usage?: UsageAnswer | undefined;
}

/**
 * Hands on the pieces of a streamed chat completion as they come. Resolves where the stream ended as it should; throws the
 * service's own error where one came in the middle (design 6), and an `ApiError` of type `incomplete` where `[DONE]` is
 * missing. An abort throws what the signal says.
 */
export async function readStream(answer: Response, onPiece: (piece: StreamPiece) => void): Promise<void> {
  let isDone = false;
  let broken: ApiError | undefined;
  const parser = new SseParser({
    onEvent: (event) => {
      if (event === '[DONE]') {
        isDone = true;
        return;
      }
      const chunk = JSON.parse(event) as ChatChunk;
      if (chunk.error !== undefined) broken ??= brokenBy(chunk.error);
      const delta = chunk.choices[0]?.delta;
      onPiece({
        text: delta?.content ?? '',
        reasoning: delta?.reasoning ?? '',
        model: chunk.model,
        usage: chunk.usage,
      });
    },
  });
  const decoder = new TextDecoder();
  const reader = answer.body?.getReader();
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    parser.push(decoder.decode(next.value, { stream: true }));
  }
  parser.push(decoder.decode());
  parser.end();
  if (broken !== undefined) throw broken;
  if (!isDone) throw incomplete();
}

const brokenBy = ({ message, type, request_id }: NonNullable<ChatChunk['error']>): ApiError =>
  new ApiError(message, { type, status: 0, requestId: request_id, param: undefined, retryAfterS: undefined });

/** The connection ended before the answer did. */
export const incomplete = (): ApiError =>
  new ApiError('The answer broke off before its end. What the provider breaks off is not charged.', {
    type: 'incomplete',
    status: 0,
    requestId: undefined,
    param: undefined,
    retryAfterS: undefined,
  });
