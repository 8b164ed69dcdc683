import { imageRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { openAiImages } from './images.ts';

const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(3000, 7)]);

function read(body: unknown, pieceBytes = 1000) {
  const reader = openAiImages.openReader();
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.push(bytes.subarray(at, at + pieceBytes));
  return reader.end();
}

/** The image of an answer, with its base64 joined. */
function imageOf(body: unknown, pieceBytes?: number): { readonly base64: string; readonly mimeType: string } {
  const reading = read(body, pieceBytes);
  if (!reading.ok) throw new Error(`not read: ${reading.outcome}`);
  const { base64, mimeType } = reading.answer;
  return { base64: Buffer.concat(base64).toString('latin1'), mimeType };
}

const answer = (b64_json: unknown, more: object = {}) => ({
  created: 1,
  data: [{ b64_json, revised_prompt: 'THEIRS' }],
  ...more,
});

describe('a request for an image', () => {
  const ask = (body: object, responseFormat?: 'base64' | 'none') =>
    openAiImages.request(imageRequestSchema.parse({ model: 'acme/paint', prompt: 'a cat', ...body }), {
      upstreamModel: 'paint-1',
      responseFormat,
    });

  it('is sent upstream field by field, with our defaults', () => {
    const request = ask({ provider: 'acme', user: 'u', quality: 'hd', CANARY: 1, size: null });
    expect(request).toMatchObject({ path: '/images/generations', accept: 'application/json' });
    expect(JSON.parse(request.body)).toEqual({
      model: 'paint-1',
      prompt: 'a cat',
      n: 1,
      size: '1024x1024',
      response_format: 'b64_json',
    });
  });

  it('asks for base64 by the provider’s own name', () => {
    expect(JSON.parse(ask({ size: '512x2048' }, 'base64').body)).toMatchObject({
      size: '512x2048',
      response_format: 'base64',
    });
    expect(JSON.parse(ask({}, 'none').body)).not.toHaveProperty('response_format');
  });
});

describe('an answer with an image', () => {
  it('is the first image, byte for byte, in whatever pieces it arrives', () => {
    const base64 = png.toString('base64');
    for (const size of [1, 7, 100, 100_000]) {
      expect(imageOf({ ...answer(base64), usage: { input_tokens: 5 } }, size)).toEqual({
        base64,
        mimeType: 'image/png',
      });
    }
    expect(imageOf({ data: [{ b64_json: base64 }, { b64_json: 'AAAA' }] }).base64).toBe(base64);
  });

  it('may be small, unpadded, or have its slashes escaped', () => {
    expect(imageOf(answer('QUJD')).base64).toBe('QUJD');
    expect(imageOf(answer('QUI')).base64).toBe('QUI=');
    expect(imageOf(answer(`${'QUJD'.repeat(100)}QQ`)).base64).toBe(`${'QUJD'.repeat(100)}QQ==`);
    const slashes = 'QU//'.repeat(100);
    expect(imageOf(JSON.stringify(answer(slashes)).replaceAll('/', '\\/')).base64).toBe(slashes);
  });

  it.each([
    ['image/png', png],
    ['image/jpeg', Buffer.from('ffd8ffe000104a464946', 'hex')],
    ['image/webp', Buffer.from('RIFF\0\0\0\0WEBPVP8 ', 'latin1')],
    ['image/gif', Buffer.from('GIF89a  ', 'latin1')],
    ['image/avif', Buffer.from('\0\0\0\x20ftypavif', 'latin1')],
  ])('is %s by its first bytes, whatever the provider says', (mimeType, bytes) => {
    expect(imageOf(answer(bytes.toString('base64'), { output_format: 'tiff' })).mimeType).toBe(mimeType);
  });

  it('has the type that the provider declares if its bytes are not recognised', () => {
    const unknown = Buffer.from('who knows').toString('base64');
    expect(imageOf(answer(unknown, { output_format: 'jpg' })).mimeType).toBe('image/jpeg');
    expect(imageOf({ data: [{ b64_json: unknown, mime_type: 'image/svg+xml' }] }).mimeType).toBe('image/svg+xml');
    expect(imageOf({ data: [{ b64_json: unknown, mime_type: 'text/html"\r\nx: y' }] }).mimeType).toBe('image/png');
    expect(imageOf(answer(unknown)).mimeType).toBe('image/png');
  });

  it.each<[string, unknown]>([
    ['no JSON', '<html>'],
    ['half an answer', JSON.stringify(answer(png.toString('base64'))).slice(0, -5)],
    ['half an image', JSON.stringify(answer(png.toString('base64'))).slice(0, 2000)],
    ['an address in its place', { data: [{ url: 'https://images.example/1.png' }] }],
    ['no image', { data: [] }],
    ['an empty image', answer('')],
    ['numbers', answer([1, 2, 3])],
    ['what is no base64', answer('<not an image>')],
    ['a long text that is no base64', answer('not an image '.repeat(100))],
    ['a truncated image', answer(`${'QUJD'.repeat(100)}Q`)],
    ['padding within', answer(`${'QUJD'.repeat(100)}=${'QUJD'.repeat(100)}`)],
    ['a list', []],
    ['null', null],
  ])('is malformed with %s', (_, body) => {
    expect(read(body)).toEqual({ ok: false, outcome: 'malformed_answer' });
  });

  it('may be an error with status 200', () => {
    expect(read({ error: { code: 429 } })).toEqual({ ok: false, outcome: 'rate_limited' });
    expect(read({ error: { code: 'moderation_blocked' } })).toEqual({ ok: false, outcome: 'content_refused' });
  });
});
