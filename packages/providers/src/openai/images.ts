import { type ImageRequest, imageSettings } from '@sotto/wire';
import type {
  AnswerReader,
  AnswerReading,
  ImageAdapter,
  ImageResult,
  ImageTarget,
  UpstreamRequest,
} from '../adapter.ts';
import { type Bulk, BulkyJson, bulkPosition } from '../bulky-json.ts';
import { asArray, asObject, asString, parseJson } from '../json.ts';
import { classifyEmbeddedError, embeddedError } from './classify-failure.ts';

/** Images as OpenAI's `POST /images/generations` makes them. */
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
  return { path: '/images/generations', body: JSON.stringify(body), accept: 'application/json' };
}

/** Reads an answer for its first image; the base64 is checked and kept, everything else is dropped. */
class ImageReader implements AnswerReader<ImageResult> {
  readonly #bulk: Bulk[] = [];
  readonly #json = new BulkyJson((bulk) => this.#bulk.push(bulk));

  push(bytes: Buffer): void {
    this.#json.push(bytes);
  }

  end(): AnswerReading<ImageResult> {
    const raw = asObject(this.#json.end());
    if (raw === undefined) return { ok: false, outcome: 'malformed_answer' };
    const error = embeddedError(raw);
    if (error !== undefined) return { ok: false, outcome: classifyEmbeddedError(error) };
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

  /** The base64 in its pieces; undefined where it is none. Some providers escape its slashes. */
  #base64Of(value: unknown): readonly Buffer[] | undefined {
    const position = bulkPosition(value);
    const bulk = position === undefined ? undefined : this.#bulk[position];
    if (bulk?.isBase64) return padded(bulk.pieces);
    const text = bulk === undefined ? value : parseJson(`"${Buffer.concat(bulk.pieces).toString('latin1')}"`);
    if (typeof text !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
    return padded([Buffer.from(text, 'latin1')]);
  }
}

/** Every four characters of base64 are three bytes; some providers leave the padding out. */
function padded(base64: readonly Buffer[]): readonly Buffer[] | undefined {
  const length = base64.reduce((sum, piece) => sum + piece.length, 0);
  if (length % 4 === 0) return base64;
  const hasPadding = base64.at(-1)?.at(-1) === 0x3d;
  return length % 4 === 1 || hasPadding ? undefined : [...base64, Buffer.from('='.repeat(4 - (length % 4)))];
}

/** How the formats of images begin. */
const signatures: readonly (readonly [mimeType: string, pattern: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/webp', /^RIFF.{4}WEBP/s],
  ['image/gif', /^GIF8/],
  ['image/avif', /^.{4}ftypavi[fs]/s],
];

/** What the image's own first bytes say; no provider's word is needed where they do. */
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

/** The provider's word, else the format that this API has where it says nothing. */
const declaredMimeType = (declared: string | undefined): string =>
  declared !== undefined && /^image\/[a-z0-9.+-]{1,40}$/.test(declared) ? declared : 'image/png';
