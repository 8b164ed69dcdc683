import { type ChatChunk, type ErrorEnvelope, SseParser, type UsageAnswer } from '@sotto/wire';
import { ApiError } from '../../../api/errors.ts';

/** A piece of an answer that streams. */
export interface StreamPiece {
  readonly text: string;
  readonly reasoning: string;
  readonly model: string;
  readonly usage?: UsageAnswer | undefined;
}

/**
 * Passes on the pieces of a streamed chat completion as they arrive. Resolves after `[DONE]`. Throws the service's error if
 * the stream holds one, and an `ApiError` of type `incomplete` if `[DONE]` is missing. An abort throws the signal's reason.
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
      const chunk = JSON.parse(event) as ChatChunk | ErrorEnvelope<string>;
      if ('error' in chunk) {
        broken ??= brokenBy(chunk.error);
        return;
      }
      const delta = chunk.choices[0]?.delta;
      onPiece({
        // A model that refuses may say so in a field of its own.
        text: `${delta?.content ?? ''}${delta?.refusal ?? ''}`,
        reasoning: delta?.reasoning ?? '',
        model: chunk.model,
        usage: chunk.usage,
      });
    },
  });
  const decoder = new TextDecoder();
  const reader = answer.body?.getReader();
  try {
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      parser.push(decoder.decode(next.value, { stream: true }));
    }
  } catch (error) {
    // The connection breaks off after the service's error.
    throw broken ?? error;
  }
  parser.push(decoder.decode());
  parser.end();
  if (broken !== undefined) throw broken;
  if (!isDone) throw incomplete();
}

const brokenBy = ({ message, type, request_id }: ErrorEnvelope<string>['error']): ApiError =>
  new ApiError(message, { type, requestId: request_id });

/** The connection ended before the answer did. */
const incomplete = (): ApiError =>
  new ApiError('The connection ended before the answer did. The text up to this point may be charged.', {
    type: 'incomplete',
  });

/** The error to show if an answer could not be read: a lost connection throws a bare `TypeError`. */
export const readError = (error: unknown): unknown => (error instanceof TypeError ? incomplete() : error);
