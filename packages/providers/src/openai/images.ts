import { type ImageRequest, imageSettings, parseJson } from '@sotto/wire';
import type {
  AnswerReader,
  AnswerReading,
  ImageAdapter,
  ImageResult,
  ImageTarget,
  UpstreamRequest,
} from '../adapter.ts';
import { type Bulk, BulkyJson, bulkPosition } from '../bulky-json.ts';
import { asArray, asObject, asString, jsonBody } from '../json.ts';
import { embeddedFailure } from './classify-failure.ts';

/** Images by OpenAI's `POST /images/generations`. */
export const openAiImages: ImageAdapter = { request: imageRequest, openReader: () => new ImageReader() };

function imageRequest(
  request: ImageRequest,
  { upstreamModel, responseFormat = 'b64_json' }: ImageTarget,
): UpstreamRequest {
  const body = {
    model: upstreamModel,
    prompt: request.prompt,
    n: 1,
    size: imageSettings(request).size,
    response_format: responseFormat === 'none' ? undefined : responseFormat,
  };
  return { path: '/images/generations', body: jsonBody(body), accept: 'application/json' };
}

/** Reads the first image of an answer. It checks and keeps the base64, and drops everything else. */
class ImageReader implements AnswerReader<ImageResult> {
  readonly #bulk: Bulk[] = [];
  readonly #json = new BulkyJson((bulk) => this.#bulk.push(bulk));

  push(bytes: Buffer): void {
    this.#json.push(bytes);
  }

  end(): AnswerReading<ImageResult> {
    const raw = asObject(this.#json.end());
    if (raw === undefined) return { ok: false, outcome: 'malformed_answer' };
    const failure = embeddedFailure(raw);
    if (failure !== undefined) return { ok: false, outcome: failure };
    const image = asObject(asArray(raw.data)?.[0]);
    const base64 = this.#base64Of(image?.b64_json);
    if (base64 === undefined) return { ok: false, outcome: 'malformed_answer' };
    const declared = asString(image?.mime_type) ?? mimeTypeOfFormat(asString(raw.output_format));
    return {
      ok: true,
      answer: { base64, mimeType: sniffedMimeType(base64) ?? declaredMimeType(declared) },
      reported: undefined,
      producedBytes: 0,
    };
  }

  /** Returns the base64 in its pieces; undefined if it is not base64. Some providers escape its slashes. */
  #base64Of(value: unknown): readonly Buffer[] | undefined {
    const position = bulkPosition(value);
    const bulk = position === undefined ? undefined : this.#bulk[position];
    if (bulk?.isBase64) return padded(bulk.pieces);
    const text = bulk === undefined ? value : parseJson(`"${Buffer.concat(bulk.pieces).toString('latin1')}"`);
    if (typeof text !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
    return padded([Buffer.from(text, 'latin1')]);
  }
}

/** Adds missing padding. Every four characters of base64 are three bytes, but some providers omit the padding. */
function padded(base64: readonly Buffer[]): readonly Buffer[] | undefined {
  const length = base64.reduce((sum, piece) => sum + piece.length, 0);
  if (length % 4 === 0) return base64;
  const hasPadding = base64.at(-1)?.at(-1) === 0x3d;
  return length % 4 === 1 || hasPadding ? undefined : [...base64, Buffer.from('='.repeat(4 - (length % 4)))];
}

/** The first bytes of image formats. */
const signatures: readonly (readonly [mimeType: string, pattern: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/webp', /^RIFF.{4}WEBP/s],
  ['image/gif', /^GIF8/],
  ['image/avif', /^.{4}ftypavi[fs]/s],
];

/** Detects the type from the image's first bytes, which are more reliable than the provider's claim. */
function sniffedMimeType(base64: readonly Buffer[]): string | undefined {
  let start = '';
  for (const piece of base64) {
    start += piece.toString('latin1', 0, 24);
    if (start.length >= 24) break;
  }
  const bytes = Buffer.from(start, 'base64').toString('latin1');
  return signatures.find(([, pattern]) => pattern.test(bytes))?.[0];
}

const mimeTypeOfFormat = (format: string | undefined): string | undefined =>
  format === undefined ? undefined : `image/${format === 'jpg' ? 'jpeg' : format}`;

/** Returns the type that the provider declares, or this API's default. */
const declaredMimeType = (declared: string | undefined): string =>
  declared !== undefined && /^image\/[a-z0-9.+-]{1,40}$/.test(declared) ? declared : 'image/png';
