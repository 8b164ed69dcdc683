import { describe, expect, it } from 'vitest';
import { vouchForKey } from '../enclave-key.ts';
import { sealChat } from '../seal-chat.ts';
import { bytesOf, fixedRandom, vector, vectorText } from '../testing/known-answers.ts';
import { gatewaySuites } from './phala-family.ts';

interface Known {
  readonly scheme: string;
  readonly nonce: string;
  readonly plaintext_utf8: string;
  readonly wire_hex: string;
}

const { vectors } = vector<{ readonly vectors: readonly Known[] }>('sotto/fields.json');
const wireOf = (start: string): string => vectors.find(({ scheme }) => scheme.startsWith(start))?.wire_hex ?? '';
const text = String(vectors[0]?.plaintext_utf8);
const aesNonce = String(vectors[0]?.nonce);
const counting = (bytes: number): string => Buffer.from(Array.from({ length: bytes }, (_, n) => n)).toString('hex');

const body = { model: 'acme/demo', messages: [{ role: 'user', content: text }] };
const now = 1_750_000_000_500;
const replySecret = '55'.repeat(32);
const recipients = {
  x25519: '5dfedd3b6bd47f6fa28ee15d969d5bb0ea53774d488bdaf9df1c6e0124b3ef22',
  secp256k1:
    '044f355bdcb7cc0af728ef3cceb9615d90684bb5b2ca5f859ab0f0b704075871aa385b6b1b8ead809ca67454d9683fcf2ba03456d6fe2c4abe2b07f0fbdbb2f1c1',
  ed25519: '17cb79fb2b4120f2b1ec65e4198d6e08b28e813feb01e4a400839b85e18080ce',
};

describe('a whole request of Phala binds the context byte for byte as the vectors do', () => {
  it.each([
    ['aci', 'x25519', '44', 32, 'ACI E2EE v2 x25519'],
    ['aci', 'secp256k1', '22', 32, 'ACI E2EE v2 secp256k1'],
    ['vllm-proxy', 'secp256k1', '22', 16, 'A-v2'],
    ['vllm-proxy', 'ed25519', '44', 16, 'B-v2'],
  ] as const)('%s with %s', async (protocol, algorithm, ephemeral, nonceBytes, scheme) => {
    const publicKey = bytesOf(recipients[algorithm]);
    const key = vouchForKey({ family: 'phala', protocol, algorithm, publicKey, model: 'demo-model' } as Parameters<
      typeof vouchForKey
    >[0]);
    const random = fixedRandom(replySecret, counting(nonceBytes), ephemeral.repeat(32), aesNonce);
    const sealed = await sealChat(key, body, { now, random });
    expect(sealed.headers).toMatchObject({
      'x-e2ee-version': '2',
      'x-e2ee-nonce': counting(nonceBytes),
      'x-e2ee-timestamp': '1750000000',
    });
    expect(JSON.parse(Buffer.from(sealed.body).toString())).toEqual({
      model: 'demo-model',
      messages: [{ role: 'user', content: wireOf(scheme) }],
      stream: false,
    });
  });
});

describe("the gateway's own vectors", () => {
  it('bind a reply to its request and place', async () => {
    const [, responseAad] = [...vectorText('aci/e2ee-v2-test-vectors.md').matchAll(/```text\n(.*)\n```/g)].map(
      ([, aad]) => aad,
    );
    expect(responseAad).toContain('choices.0.message.content');
    const key = vouchForKey({
      family: 'phala',
      protocol: 'aci',
      algorithm: 'x25519',
      publicKey: bytesOf(recipients.x25519),
      model: 'demo-model',
    });
    const random = fixedRandom(replySecret, counting(32), '44'.repeat(32), aesNonce);
    const sealed = await sealChat(key, body, { now, random });
    const content = await gatewaySuites.x25519.cipher.seal(bytesOf(String(sealed.headers['x-client-pub-key'])), text, {
      random: (length) => new Uint8Array(length).fill(3),
      aad: String(responseAad),
    });
    const reply = {
      id: 'chatcmpl-123',
      model: 'other-name',
      choices: [{ index: 0, message: { content }, finish_reason: 'stop' }],
    };
    const headers = new Headers({ 'x-e2ee-applied': 'true', 'x-e2ee-version': '2' });
    const opened = await sealed.openWhole(headers, Buffer.from(JSON.stringify(reply)));
    expect(JSON.parse(opened)).toMatchObject({ id: 'chatcmpl-123', choices: [{ message: { content: text } }] });
  });
});
