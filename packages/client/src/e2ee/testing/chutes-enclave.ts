import {
  createPublicKey,
  decapsulate,
  encapsulate,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type ChatBody, chunksOf, completionOf, event } from './chat-answer.ts';
import {
  demand,
  type EnclaveAnswer,
  echo,
  Refusal,
  type StandInEnclave,
  type StandInOptions,
  standInModel,
} from './enclave.ts';
import { chacha20Poly1305, hkdf } from './openssl.ts';

const chuteId = '6f1e5a52-0c0e-5c57-9a37-08e1c4f3a6b1';
const instanceId = '0d9b7a38-9d1e-4d32-9b86-3a3c5a7f20de';
const nonceLifeMs = 60_000;
const kemBytes = 1088;

interface SealedChat extends ChatBody {
  readonly e2e_response_pk: string;
}

/** One instance of a chute behind `POST /e2e/invoke`. */
export function chutesEnclave(options: StandInOptions = {}): StandInEnclave {
  const { model = standInModel, now = Date.now, speak = echo } = options;
  const pair = generateKeyPairSync('ml-kem-768');
  const publicKey = new Uint8Array(pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-1184));
  const nonces = new Map<string, number>();
  return {
    nextKey() {
      const nonce = randomBytes(24).toString('base64url');
      const expiresAt = now() + nonceLifeMs;
      nonces.set(nonce, expiresAt);
      return { family: 'chutes', algorithm: 'ml-kem-768', publicKey, model, chuteId, instanceId, nonce, expiresAt };
    },
    async answer({ headers, body }) {
      try {
        demand(headers['x-chute-id'] === chuteId && headers['x-instance-id'] === instanceId, 'instance_not_found');
        const nonce = headers['x-e2e-nonce'] ?? '';
        if (now() > (nonces.get(nonce) ?? 0)) throw new Refusal('nonce_rejected', 403);
        nonces.delete(nonce);
        demand(headers['x-e2e-path'] === '/v1/chat/completions', 'path_not_found');
        const chat = openRequest(pair.privateKey, Buffer.from(body));
        demand(chat.model === model, 'model_not_found');
        demand(String(chat.stream === true) === headers['x-e2e-stream'], 'stream_mismatch');
        return write(chat, mlKemKey(Buffer.from(chat.e2e_response_pk, 'base64')), speak(chat.messages));
      } catch (error) {
        if (error instanceof Refusal) return error.answer();
        throw error;
      }
    },
  };
}

function openRequest(privateKey: KeyObject, blob: Buffer): SealedChat {
  const ciphertext = blob.subarray(0, kemBytes);
  try {
    const key = keyOf(decapsulate(privateKey, ciphertext), ciphertext, 'e2e-req-v1');
    const packed = chacha20Poly1305.open(key, blob.subarray(kemBytes, kemBytes + 12), blob.subarray(kemBytes + 12));
    return JSON.parse(gunzipSync(packed).toString()) as SealedChat;
  } catch {
    throw new Refusal('e2e_decryption_failed');
  }
}

function write(chat: SealedChat, client: KeyObject, spoken: Parameters<typeof completionOf>[0]): EnclaveAnswer {
  const { sharedKey, ciphertext } = encapsulate(client);
  if (chat.stream !== true) {
    const key = keyOf(sharedKey, ciphertext, 'e2e-resp-v1');
    const packed = gzipSync(JSON.stringify(completionOf(spoken, chat.model)));
    return {
      status: 200,
      headers: { 'content-type': 'application/octet-stream' },
      pieces: [Buffer.concat([ciphertext, seal(key, packed)])],
    };
  }
  const key = keyOf(sharedKey, ciphertext, 'e2e-stream-v1');
  const line = (plain: Buffer): Buffer => event({ e2e: seal(key, plain).toString('base64') });
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    pieces: [
      event({ e2e_init: ciphertext.toString('base64') }),
      line(Buffer.from(': ping\n\n')),
      ...chunksOf(spoken, chat.model).map((chunk) => line(event(chunk))),
      event({ usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } }),
      line(event('[DONE]')),
      event('[DONE]'),
    ],
  };
}

function seal(key: Buffer, plaintext: Buffer): Buffer {
  const nonce = randomBytes(12);
  return Buffer.concat([nonce, chacha20Poly1305.seal(key, nonce, plaintext)]);
}

const keyOf = (sharedSecret: Uint8Array, ciphertext: Uint8Array, info: string): Buffer =>
  hkdf(sharedSecret, ciphertext.subarray(0, 16), info);

/** SubjectPublicKeyInfo around an ML-KEM-768 key (RFC 9935). */
function mlKemKey(raw: Buffer): KeyObject {
  const prefix = Buffer.from('308204b2300b0609608648016503040402038204a100', 'hex');
  return createPublicKey({ key: Buffer.concat([prefix, raw]), format: 'der', type: 'spki' });
}
