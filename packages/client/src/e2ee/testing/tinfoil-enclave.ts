import { randomBytes } from 'node:crypto';
import { type ChatBody, chunksOf, completionOf, event } from './chat-answer.ts';
import { demand, echo, Refusal, type StandInEnclave, type StandInOptions, standInModel } from './enclave.ts';
import { aes256Gcm, hkdf, hmac, x25519 } from './openssl.ts';

/** A server of EHBP (tinfoilsh/encrypted-http-body-protocol, SPEC.md), with HPKE implemented from RFC 9180. */
export function tinfoilEnclave(options: StandInOptions = {}): StandInEnclave {
  const { model = standInModel, speak = echo, hears } = options;
  const pair = x25519.makeKeyPair();
  return {
    nextKey: () => ({ family: 'tinfoil', algorithm: 'x25519', publicKey: new Uint8Array(pair.publicKey), model }),
    async answer({ headers, body }) {
      try {
        const encapsulated = Buffer.from(headers['ehbp-encapsulated-key'] ?? '', 'hex');
        demand(encapsulated.length === 32, 'ehbp_encapsulated_key');
        const request = receive(pair, encapsulated);
        const chat = JSON.parse(request.open(framesOf(body)).toString()) as ChatBody;
        hears?.(chat);
        demand(chat.model === model, 'model_not_found');
        const spoken = speak(chat.messages);
        const plain =
          chat.stream === true
            ? [...chunksOf(spoken, chat.model).map(event), event('[DONE]')]
            : [Buffer.from(JSON.stringify(completionOf(spoken, chat.model)))];
        const responseNonce = randomBytes(32);
        const seal = responseSealer(request.exported, encapsulated, responseNonce);
        return {
          status: 200,
          headers: {
            'content-type': chat.stream === true ? 'text/event-stream' : 'application/json',
            'ehbp-response-nonce': responseNonce.toString('hex'),
          },
          // The protocol allows empty frames. They carry no content.
          pieces: [Buffer.alloc(4), ...plain.map(seal)],
        };
      } catch (error) {
        if (error instanceof Refusal) return error.answer();
        throw error;
      }
    },
  };
}

function framesOf(body: Uint8Array): Buffer[] {
  const bytes = Buffer.from(body);
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    demand(at + 4 + length <= bytes.length, 'ehbp_framing');
    if (length > 0) frames.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return frames;
}

function responseSealer(exported: Buffer, encapsulated: Buffer, responseNonce: Buffer): (plain: Buffer) => Buffer {
  const salt = Buffer.concat([encapsulated, responseNonce]);
  const key = hkdf(exported, salt, 'key');
  const firstNonce = hkdf(exported, salt, 'nonce', 12);
  let next = 0;
  return (plain) => {
    const sealed = aes256Gcm.seal(key, numbered(firstNonce, next), plain);
    next += 1;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(sealed.length);
    return Buffer.concat([length, sealed]);
  };
}

const numbered = (nonce: Buffer, number: number): Buffer => {
  const own = Buffer.from(nonce);
  own.writeUInt32BE((own.readUInt32BE(8) ^ number) >>> 0, 8);
  return own;
};

/** SetupBaseR of HPKE with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM (RFC 9180 sections 4.1 and 5.1). */
function receive(pair: { secretKey: Buffer; publicKey: Buffer }, encapsulated: Buffer) {
  const none = Buffer.alloc(0);
  const labelled = (suite: Buffer) => ({
    extract: (salt: Buffer, label: string, secret: Buffer) =>
      hmac(salt.length === 0 ? Buffer.alloc(32) : salt, Buffer.from('HPKE-v1'), suite, Buffer.from(label), secret),
    expand: (prk: Buffer, label: string, info: Buffer, length: number) => {
      const head = Buffer.from([0, length]);
      const block = hmac(prk, head, Buffer.from('HPKE-v1'), suite, Buffer.from(label), info, Buffer.from([1]));
      return block.subarray(0, length);
    },
  });
  const kem = labelled(Buffer.concat([Buffer.from('KEM'), Buffer.from([0, 0x20])]));
  const hpke = labelled(Buffer.concat([Buffer.from('HPKE'), Buffer.from([0, 0x20, 0, 1, 0, 2])]));
  const shared = kem.expand(
    kem.extract(none, 'eae_prk', x25519.agree(pair.secretKey, encapsulated)),
    'shared_secret',
    Buffer.concat([encapsulated, pair.publicKey]),
    32,
  );
  const context = Buffer.concat([
    Buffer.from([0]),
    hpke.extract(none, 'psk_id_hash', none),
    hpke.extract(none, 'info_hash', Buffer.from('ehbp request')),
  ]);
  const secret = hpke.extract(shared, 'secret', none);
  const key = hpke.expand(secret, 'key', context, 32);
  const nonce = hpke.expand(secret, 'base_nonce', context, 12);
  return {
    exported: hpke.expand(hpke.expand(secret, 'exp', context, 32), 'sec', Buffer.from('ehbp response'), 32),
    open(frames: readonly Buffer[]): Buffer {
      try {
        return Buffer.concat(frames.map((frame, index) => aes256Gcm.open(key, numbered(nonce, index), frame)));
      } catch {
        throw new Refusal('urn:ietf:params:ehbp:error:key-config', 422);
      }
    },
  };
}
