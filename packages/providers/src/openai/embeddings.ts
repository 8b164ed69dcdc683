import type { EmbeddingsRequest } from '@sotto/wire';
import type { AnswerIdentity, AnswerReading, EmbeddingsResult, UpstreamRequest, UpstreamTarget } from '../adapter.ts';
import { asArray, asCount, asObject, parseJson } from '../json.ts';
import { classifyEmbeddedError, embeddedError } from './classify-failure.ts';
import { readUsage } from './usage.ts';

export function embeddingsRequest(request: EmbeddingsRequest, target: UpstreamTarget): UpstreamRequest {
  const body = {
    ...target.extraBody,
    model: target.upstreamModel,
    input: request.input,
    encoding_format: request.encoding_format ?? undefined,
    dimensions: request.dimensions ?? undefined,
    user: request.user ?? undefined,
  };
  return { path: '/embeddings', body: JSON.stringify(body), accept: 'application/json' };
}

/** How many vectors a request asks for. */
function inputCount(input: EmbeddingsRequest['input']): number {
  if (typeof input === 'string') return 1;
  return typeof input[0] === 'number' ? 1 : input.length;
}

/**
 * Reads vectors and gives them the encoding that the request asked for, whichever the provider chose.
 * base64 is of 32-bit floats, so floats turned into it lose what those cannot hold; base64 turned into numbers is exact.
 */
export function readEmbeddings(
  body: Buffer,
  request: EmbeddingsRequest,
  identity: AnswerIdentity,
): AnswerReading<EmbeddingsResult> {
  const raw = asObject(parseJson(body.toString('utf8')));
  if (raw === undefined) return { ok: false, outcome: 'malformed_answer' };
  const error = embeddedError(raw);
  if (error !== undefined) return { ok: false, outcome: classifyEmbeddedError(error) };
  const entries = asArray(raw.data);
  if (entries === undefined || entries.length !== inputCount(request.input))
    return { ok: false, outcome: 'malformed_answer' };
  const vectors: (number[] | string)[] = [];
  for (const [position, entry] of entries.entries()) {
    const object = asObject(entry);
    const vector = asVector(object?.embedding, request.encoding_format === 'base64');
    const index = object?.index == null ? position : asCount(object.index);
    if (vector === undefined || index === undefined || index in vectors || index >= entries.length)
      return { ok: false, outcome: 'malformed_answer' };
    vectors[index] = vector;
  }
  return {
    ok: true,
    answer: {
      object: 'list',
      data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
      model: identity.model,
    },
    reported: readUsage(raw.usage, { hasCompletion: false }),
    producedBytes: 0,
  };
}

function asVector(value: unknown, base64: boolean): number[] | string | undefined {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value, 'base64');
    if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
    if (base64) return value;
    const floats = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
    return floats.every(Number.isFinite) ? floats : undefined;
  }
  const numbers = asArray(value);
  if (numbers === undefined || numbers.length === 0) return undefined;
  if (!numbers.every((entry): entry is number => typeof entry === 'number')) return undefined;
  if (!base64) return [...numbers];
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [i, entry] of numbers.entries()) bytes.writeFloatLE(entry, i * 4);
  return bytes.toString('base64');
}
