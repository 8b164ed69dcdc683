import { Identity } from 'ehbp';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../bytes.ts';
import { bytesOf, vector } from '../testing/known-answers.ts';
import { aes256Gcm } from '../testing/openssl.ts';
import { tinfoilEnclave } from '../testing/tinfoil-enclave.ts';
import { FrameReader } from './frames.ts';
import { ResponseKey, sendTo } from './sealed-payloads.ts';

interface Known {
  readonly exportedSecret: string;
  readonly requestEnc: string;
  readonly responseNonce: string;
  readonly derivedKey: string;
  readonly derivedNonceBase: string;
  readonly plaintext: string;
  readonly encryptedResponse: string;
}

const responseKeyOf = ({ exportedSecret, requestEnc, responseNonce }: Known): Promise<ResponseKey> =>
  ResponseKey.derive(
    { exported: bytesOf(exportedSecret), encapsulatedKey: bytesOf(requestEnc) },
    bytesOf(responseNonce),
  );

describe("EHBP's own known answers", () => {
  it('derive: chunks sealed with the known key and nonces open in order', async () => {
    const known = vector<{ readonly derive: Known }>('ehbp.json').derive;
    const key = await responseKeyOf(known);
    const second = Buffer.from(known.derivedNonceBase, 'hex');
    second.writeUInt32BE((second.readUInt32BE(8) ^ 1) >>> 0, 8);
    const sealed = [bytesOf(known.derivedNonceBase), second].map((nonce, index) =>
      aes256Gcm.seal(bytesOf(known.derivedKey), nonce, utf8(`chunk ${index}`)),
    );
    for (const [index, chunk] of sealed.entries()) {
      expect(Buffer.from(await key.open(new Uint8Array(chunk))).toString()).toBe(`chunk ${index}`);
    }
  });

  it('response decryption', async () => {
    const known = vector<{ readonly response_decryption: Known }>('ehbp.json').response_decryption;
    const [chunk = new Uint8Array()] = new FrameReader().push(bytesOf(known.encryptedResponse));
    const opened = await (await responseKeyOf(known)).open(chunk);
    expect(Buffer.from(opened).toString('hex')).toBe(known.plaintext);
    await expect((await responseKeyOf(known)).open(chunk.slice(1))).rejects.toMatchObject({
      code: 'e2ee_decryption_failed',
    });
  });
});

describe('against the reference client of EHBP', () => {
  it('the stand-in enclave serves it, so what the stand-in opens is EHBP', async () => {
    const enclave = tinfoilEnclave();
    const { publicKey, model } = enclave.nextKey();
    const identity = await Identity.fromPublicKeyHex(Buffer.from(publicKey).toString('hex'));
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] });
    const plain = new Request('https://enclave.example/v1/chat/completions', { method: 'POST', body });
    const { request, context } = await identity.encryptRequestWithContext(plain);
    const answer = await enclave.answer({
      headers: Object.fromEntries(request.headers),
      body: new Uint8Array(await request.arrayBuffer()),
    });
    expect(answer.status).toBe(200);
    if (context === null) throw new Error('the request was not encrypted');
    const response = new Response(Buffer.concat(answer.pieces), answer);
    const opened = await identity.decryptResponseWithContext(response, context);
    expect(await opened.json()).toMatchObject({ choices: [{ message: { content: 'You said: hello' } }] });
  });
});

describe('HPKE', () => {
  it('seals the same from the same randomness, and differently from other randomness', async () => {
    const { publicKey } = tinfoilEnclave().nextKey();
    const sealing = async (byte: number) => {
      const { sealed, secret } = await sendTo(publicKey, utf8('x'), (n) => new Uint8Array(n).fill(byte));
      return Buffer.concat([secret.encapsulatedKey, sealed]).toString('hex');
    };
    expect(await sealing(1)).toBe(await sealing(1));
    expect(await sealing(1)).not.toBe(await sealing(2));
  });

  it('refuses a key of low order', async () => {
    const sealing = sendTo(new Uint8Array(32), utf8('x'), (n) => new Uint8Array(n).fill(1));
    await expect(sealing).rejects.toMatchObject({ code: 'e2ee_key_invalid' });
  });
});
