import { ml_kem768 as kem } from '@noble/post-quantum/ml-kem.js';
import { describe, expect, it } from 'vitest';
import { copy, fromBase64, utf8 } from '../bytes.ts';
import { bytesOf, fixedRandom, vector } from '../testing/known-answers.ts';
import { gunzip } from './chutes-family.ts';
import { EventPayloads } from './event-payloads.ts';
import { storedGzip } from './stored-gzip.ts';
import { makeReplyKeyPair, openBlob, sealBlob } from './whole-body.ts';

interface Known {
  readonly instance_seed: string;
  readonly instance_public_b64: string;
  readonly client_seed: string;
  readonly client_public_b64: string;
  readonly request: {
    readonly encaps_coins: string;
    readonly nonce: string;
    readonly plaintext_json: string;
    readonly blob_b64: string;
  };
  readonly response: { readonly plaintext_json: string; readonly blob_b64: string };
  readonly stream: { readonly plaintext_lines: readonly string[]; readonly sse_events: readonly string[] };
}

const known = vector<Known>('sotto/chutes.json');
const blobOf = (base64: string) => fromBase64(base64) ?? new Uint8Array();
const instance = kem.keygen(bytesOf(known.instance_seed));
const client = () => makeReplyKeyPair(fixedRandom(known.client_seed));

describe('known answers of Chutes', () => {
  it('makes the reply key', () => {
    expect(client().publicKey).toEqual(blobOf(known.client_public_b64));
    expect(copy(instance.publicKey)).toEqual(blobOf(known.instance_public_b64));
  });

  it('seals the request to the byte', async () => {
    const expected = blobOf(known.request.blob_b64);
    const packed = copy(await openBlob(copy(instance.secretKey), expected, 'e2e-req-v1'));
    const random = fixedRandom(known.request.encaps_coins, known.request.nonce);
    expect(await sealBlob(copy(instance.publicKey), packed, { purpose: 'e2e-req-v1', random })).toEqual(expected);
  });

  it('opens the request, and packs it without loss', async () => {
    const packed = copy(await openBlob(copy(instance.secretKey), blobOf(known.request.blob_b64), 'e2e-req-v1'));
    expect(Buffer.from(await gunzip(packed, 1e6)).toString()).toBe(known.request.plaintext_json);
    expect(await gunzip(storedGzip(utf8(known.request.plaintext_json)), 1e6)).toEqual(
      utf8(known.request.plaintext_json),
    );
  });

  it('opens the whole reply, but not with the key of another purpose', async () => {
    const blob = blobOf(known.response.blob_b64);
    const packed = copy(await openBlob(client().secretKey, blob, 'e2e-resp-v1'));
    expect(Buffer.from(await gunzip(packed, 1e6)).toString()).toBe(known.response.plaintext_json);
    await expect(openBlob(client().secretKey, blob, 'e2e-req-v1')).rejects.toMatchObject({
      code: 'e2ee_decryption_failed',
    });
  });

  it('opens the stream', async () => {
    const payloads = new EventPayloads(client().secretKey);
    const opened = await payloads.push(utf8(known.stream.sse_events.map((event) => `${event.trim()}\n\n`).join('')));
    expect(opened.map((payload) => `data: ${payload}`)).toEqual(
      known.stream.plaintext_lines.map((line) => line.trim()),
    );
  });
});
