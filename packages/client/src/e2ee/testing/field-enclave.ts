import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { EnclaveKey } from '../enclave-key.ts';
import { type ChatBody, chunksOf, completionOf, event, replyId } from './chat-answer.ts';
import {
  demand,
  type EnclaveAnswer,
  type EnclaveRequest,
  echo,
  Refusal,
  type StandInEnclave,
  type StandInOptions,
  standInModel,
} from './enclave.ts';
import {
  aes256Gcm,
  type Cipher,
  type Curve,
  hkdf,
  montgomeryOf,
  montgomerySecretOf,
  secp256k1,
  x25519,
  xchacha20Poly1305,
} from './openssl.ts';

type Headers = EnclaveRequest['headers'];

interface Suite {
  readonly curve: Curve;
  readonly cipher: Cipher;
  readonly info: string;
  /** Whether keys are published as Ed25519. */
  readonly isEdwards?: boolean;
}

interface Protocol {
  readonly suite: Suite;
  readonly key: Omit<EnclaveKey, 'publicKey' | 'model'>;
  readonly clientKeyHeader: string;
  readonly modelKeyHeader: string;
  /** The form in which the request must name the enclave's key. */
  readonly namesKeyAs: (publicKey: Buffer) => string;
  /** Throws `Refusal` for a request that the enclave would refuse. */
  readonly check: (headers: Headers, now: number) => void;
  readonly requestAad?: (headers: Headers, model: string, index: number) => string;
  readonly replyAad?: (headers: Headers, model: string, place: { holder: string; field: string }) => string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly streamsOnly?: boolean;
  /** Whether one ephemeral key serves the whole reply. */
  readonly keepsEphemeral?: boolean;
}

const noSalt = Buffer.alloc(0);
const ecdsa: Suite = { curve: secp256k1, cipher: aes256Gcm, info: 'ecdsa_encryption' };
const withPrefix = (publicKey: Buffer): string => publicKey.toString('hex');
const withoutPrefix = (publicKey: Buffer): string => publicKey.subarray(publicKey.length - 64).toString('hex');

const near = (algo: 'ed25519' | 'ecdsa', suite: Suite): Protocol => ({
  suite,
  key: { family: 'near', algorithm: algo === 'ed25519' ? 'ed25519' : 'secp256k1' } as Protocol['key'],
  clientKeyHeader: 'x-client-pub-key',
  modelKeyHeader: 'x-model-pub-key',
  namesKeyAs: withoutPrefix,
  check(headers) {
    demand(headers['x-signing-algo'] === algo, 'invalid_signing_algo');
    demand(headers['x-encryption-version'] === '2', 'invalid_encryption_version');
  },
});

const algoNames = {
  x25519: 'x25519-aes-256-gcm-hkdf-sha256',
  secp256k1: 'secp256k1-aes-256-gcm-hkdf-sha256',
} as const;

const gateway = (algorithm: 'x25519' | 'secp256k1', curve: Curve): Protocol => {
  const seen = new Set<string>();
  const context = (headers: Headers, model: string) => ({
    model,
    nonce: headers['x-e2ee-nonce'],
    ts: Number(headers['x-e2ee-timestamp']),
  });
  const canonical = (fields: Record<string, unknown>): string => JSON.stringify(fields, Object.keys(fields).sort());
  return {
    suite: { curve, cipher: aes256Gcm, info: `aci.e2ee.v2.${algorithm}` },
    key: { family: 'phala', protocol: 'aci', algorithm } as Protocol['key'],
    clientKeyHeader: 'x-client-pub-key',
    modelKeyHeader: 'x-model-pub-key',
    namesKeyAs: withPrefix,
    check(headers, now) {
      demand(headers['x-signing-algo'] === undefined, 'e2ee_invalid_version');
      demand(headers['x-e2ee-version'] === '2', 'e2ee_invalid_version');
      demand(/^[0-9a-f]{64}$/i.test(headers['x-e2ee-nonce'] ?? ''), 'e2ee_invalid_nonce');
      // It remembers a nonce together with the reply key.
      checkFreshness(headers, now, { seen, by: headers['x-client-pub-key'] });
    },
    requestAad: (headers, model, index) =>
      canonical({
        purpose: 'aci.e2ee.request.v2',
        algo: algoNames[algorithm],
        field: `messages.${index}.content`,
        ...context(headers, model),
      }),
    replyAad: (headers, model, { holder, field }) =>
      canonical({
        purpose: 'aci.e2ee.response.v2',
        algo: algoNames[algorithm],
        id: replyId,
        field: `choices.0.${holder}.${field}`,
        ...context(headers, model),
      }),
    headers: { 'x-e2ee-applied': 'true', 'x-e2ee-version': '2', 'x-e2ee-algo': algoNames[algorithm] },
  };
};

const vllmProxy = (algo: 'ed25519' | 'ecdsa', suite: Suite): Protocol => {
  const seen = new Set<string>();
  const tail = (headers: Headers): string => `n=${headers['x-e2ee-nonce']}|ts=${headers['x-e2ee-timestamp']}`;
  return {
    ...near(algo, suite),
    key: {
      family: 'phala',
      protocol: 'vllm-proxy',
      algorithm: algo === 'ed25519' ? 'ed25519' : 'secp256k1',
    } as Protocol['key'],
    check(headers, now) {
      demand(headers['x-signing-algo'] === algo, 'e2ee_invalid_signing_algo');
      demand(headers['x-e2ee-version'] === '2', 'e2ee_invalid_version');
      demand((headers['x-e2ee-nonce'] ?? '').length >= 16, 'e2ee_invalid_nonce');
      checkFreshness(headers, now, { seen });
    },
    requestAad: (headers, model, index) => `v2|req|algo=${algo}|model=${model}|m=${index}|c=-|${tail(headers)}`,
    replyAad: (headers, model, { field }) =>
      `v2|resp|algo=${algo}|model=${model}|id=${replyId}|choice=0|field=${field}|${tail(headers)}`,
    headers: { 'x-e2ee-applied': 'true', 'x-e2ee-version': '2', 'x-e2ee-algo': algo },
    keepsEphemeral: true,
  };
};

function checkFreshness(
  headers: Headers,
  now: number,
  { seen, by = '' }: { readonly seen: Set<string>; readonly by?: string | undefined },
): void {
  const ts = Number(headers['x-e2ee-timestamp']);
  demand(Number.isInteger(ts) && Math.abs(now / 1000 - ts) <= 300, 'e2ee_invalid_timestamp');
  const nonce = by + String(headers['x-e2ee-nonce']).toLowerCase();
  demand(!seen.has(nonce), 'e2ee_replay_detected');
  seen.add(nonce);
}

/** Enclaves that encrypt field by field. Each follows the source that the client's family of the same name cites. */
export const fieldProtocols = {
  'near-ed25519': () =>
    near('ed25519', { curve: x25519, cipher: xchacha20Poly1305, info: 'ed25519_encryption', isEdwards: true }),
  'near-secp256k1': () => near('ecdsa', ecdsa),
  'phala-aci-x25519': () => gateway('x25519', x25519),
  'phala-aci-secp256k1': () => gateway('secp256k1', secp256k1),
  'phala-vllm-proxy-ed25519': () =>
    vllmProxy('ed25519', { curve: x25519, cipher: aes256Gcm, info: 'ed25519_encryption', isEdwards: true }),
  'phala-vllm-proxy-secp256k1': () => vllmProxy('ecdsa', ecdsa),
  venice: (): Protocol => ({
    suite: ecdsa,
    key: { family: 'venice', algorithm: 'secp256k1' } as Protocol['key'],
    clientKeyHeader: 'x-venice-tee-client-pub-key',
    modelKeyHeader: 'x-venice-tee-model-pub-key',
    namesKeyAs: withPrefix,
    check: (headers) => demand(headers['x-venice-tee-signing-algo'] === 'ecdsa', 'invalid_signing_algo'),
    streamsOnly: true,
  }),
};

export function fieldEnclave(protocol: Protocol, options: StandInOptions = {}): StandInEnclave {
  const { model = standInModel, now = Date.now, speak = echo } = options;
  const { suite } = protocol;
  const pair = makePublished(suite);
  return {
    nextKey: () => ({ ...protocol.key, publicKey: new Uint8Array(pair.publicKey), model }) as EnclaveKey,
    sign: pair.sign,
    async answer({ headers, body }) {
      try {
        protocol.check(headers, now());
        demand(headers[protocol.modelKeyHeader] === protocol.namesKeyAs(pair.publicKey), 'e2ee_model_key_mismatch');
        const chat = openRequest(protocol, pair.secretKey, headers, JSON.parse(Buffer.from(body).toString()));
        const client = Buffer.from(headers[protocol.clientKeyHeader] ?? '', 'hex');
        const seal = sealerTo(suite, publishedOf(suite, client), protocol.keepsEphemeral === true);
        const sealSaid = (said: Record<string, unknown>, holder: string): void => {
          for (const field of ['content', 'reasoning_content']) {
            const text = said[field];
            if (typeof text === 'string' && text !== '')
              said[field] = seal(text, protocol.replyAad?.(headers, chat.model, { holder, field }));
          }
        };
        return write(protocol, chat, speak(chat.messages), sealSaid);
      } catch (error) {
        if (error instanceof Refusal) return error.answer();
        throw error;
      }
    },
  };
}

function openRequest(protocol: Protocol, secretKey: Buffer, headers: Headers, chat: ChatBody): ChatBody {
  demand(protocol.streamsOnly !== true || chat.stream === true, 'streaming_required');
  const messages = chat.messages.map(({ role, content }, index) => {
    // Content in parts passes without decryption, as in the real enclaves. A client must never send it.
    if (typeof content !== 'string') return { role, content };
    demand(/^(?:[0-9a-f]{2})+$/i.test(content), 'encrypted_field_is_not_valid_hex');
    const aad = protocol.requestAad?.(headers, chat.model, index);
    return { role, content: restored(openField(protocol.suite, secretKey, content, aad)) };
  });
  return { ...chat, messages };
}

/** A plaintext that is a JSON list becomes content parts. */
function restored(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : text;
  } catch {
    return text;
  }
}

function write(
  protocol: Protocol,
  chat: ChatBody,
  spoken: Parameters<typeof completionOf>[0],
  sealSaid: (said: Record<string, unknown>, holder: string) => void,
): EnclaveAnswer {
  const seal = (answer: Record<string, unknown>, holder: string): Record<string, unknown> => {
    for (const choice of answer.choices as Record<string, Record<string, unknown>>[]) {
      sealSaid(choice[holder] ?? {}, holder);
    }
    return answer;
  };
  const type = chat.stream === true ? 'text/event-stream' : 'application/json';
  const headers = { 'content-type': type, ...protocol.headers };
  if (chat.stream !== true) {
    const whole = seal(completionOf(spoken, chat.model), 'message');
    return { status: 200, headers, pieces: [Buffer.from(JSON.stringify(whole))] };
  }
  const events = chunksOf(spoken, chat.model).map((chunk) => event(seal(chunk, 'delta')));
  return { status: 200, headers, pieces: [Buffer.from(': ping\n\n'), ...events, event('[DONE]')] };
}

interface Published {
  readonly secretKey: Buffer;
  readonly publicKey: Buffer;
  readonly sign?: (text: string) => Buffer;
}

function makePublished({ curve, isEdwards }: Suite): Published {
  if (isEdwards !== true) return curve.makeKeyPair();
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32);
  return {
    secretKey: montgomerySecretOf(seed),
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32),
    sign: (text) => sign(null, Buffer.from(text), privateKey),
  };
}

const publishedOf = ({ isEdwards }: Suite, publicKey: Buffer): Buffer =>
  isEdwards === true ? montgomeryOf(publicKey) : publicKey;

function openField({ curve, cipher, info }: Suite, secretKey: Buffer, field: string, aad?: string): string {
  const wire = Buffer.from(field, 'hex');
  const nonceAt = curve.publicKeyBytes;
  const sealedAt = nonceAt + cipher.nonceBytes;
  try {
    const key = hkdf(curve.agree(secretKey, wire.subarray(0, nonceAt)), noSalt, info);
    return cipher.open(key, wire.subarray(nonceAt, sealedAt), wire.subarray(sealedAt), aad).toString();
  } catch {
    throw new Refusal('e2ee_decryption_failed');
  }
}

function sealerTo(
  { curve, cipher, info }: Suite,
  client: Buffer,
  keepsEphemeral: boolean,
): (text: string, aad?: string) => string {
  const makeKey = () => {
    const ephemeral = curve.makeKeyPair();
    return { ephemeral, key: hkdf(curve.agree(ephemeral.secretKey, client), noSalt, info) };
  };
  const kept = keepsEphemeral ? makeKey() : undefined;
  return (text, aad) => {
    const { ephemeral, key } = kept ?? makeKey();
    const nonce = randomBytes(cipher.nonceBytes);
    return Buffer.concat([ephemeral.publicKey, nonce, cipher.seal(key, nonce, Buffer.from(text), aad)]).toString('hex');
  };
}
