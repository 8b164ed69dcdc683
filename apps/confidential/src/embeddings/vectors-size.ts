import type { UnsupportedRequest } from '@sotto/providers';
import { countEmbeddingInputs, type EmbeddingsRequest } from '@sotto/wire';
import type { AttemptFailure } from '../attempts/attempt.ts';
import type { Served } from '../settlement/request-settlement.ts';

/** The longest answer in bytes, in the form in which a provider sends it. */
export const maxAnswerBytes = 64 * 1024 * 1024;
/** Few providers write a number of a vector in fewer bytes, its comma included; as base64 each is exactly this long. */
const leastNumberBytes = { float: 11, base64: 16 / 3 } as const;
/** No provider writes one in more, with whatever space it puts around. */
const mostNumberBytes = 64;
/** No model makes longer vectors. */
const mostDimensions = 65_536;

/** The refusal of a request whose vectors cannot fit into one answer, told before any provider works for it. */
export function tooManyVectors(embeddings: EmbeddingsRequest, dimensions: number): UnsupportedRequest | undefined {
  const inputs = countEmbeddingInputs(embeddings.input);
  const vectorBytes = dimensions * leastNumberBytes[embeddings.encoding_format ?? 'float'];
  if (inputs * vectorBytes <= maxAnswerBytes) return undefined;
  return {
    unsupported: `\`input\` asks for ${inputs} vectors of ${dimensions} numbers, too many for one answer. Send at most ${Math.floor(maxAnswerBytes / vectorBytes)} inputs${instead(embeddings)}.`,
    param: 'input',
  };
}

/**
 * What a longer answer means. Where the request could ask for as much, every provider would answer as much, so none is
 * asked again and the client pays for the `work`. Else the provider is at fault.
 */
export function tooLargeAnswer(embeddings: EmbeddingsRequest, work: () => Served): AttemptFailure {
  const inputs = countEmbeddingInputs(embeddings.input);
  const isAskedFor = inputs * (embeddings.dimensions ?? mostDimensions) * mostNumberBytes >= maxAnswerBytes;
  if (!isAskedFor) return { outcome: 'malformed_answer' };
  return {
    outcome: 'invalid_request',
    message: `The vectors of so many inputs are too large for one answer, and were charged. Send fewer inputs${instead(embeddings)}.`,
    param: 'input',
    spent: work(),
  };
}

const instead = ({ encoding_format: format }: EmbeddingsRequest): string =>
  format === 'base64' ? '' : ', or ask for `encoding_format: "base64"`, which takes half of the room or less';
