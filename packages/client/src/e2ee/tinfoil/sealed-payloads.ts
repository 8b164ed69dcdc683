import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from 'hpke';
import { ClientError } from '../../errors.ts';
import { type Bytes, concat, copy, type RandomBytes, utf8 } from '../bytes.ts';
import { type AeadKey, aesGcm } from '../ciphers/aead.ts';
import { hkdf } from '../ciphers/hkdf.ts';
import { importX25519, isUnsupported } from '../ciphers/key-agreement.ts';
import { type PayloadSource, SsePayloads } from '../reply/sse-payloads.ts';
import { FrameReader } from './frames.ts';

/** The payloads of a body that is a sequence of sealed frames. */
export class SealedPayloads implements PayloadSource {
  readonly #frames = new FrameReader();
  readonly #events = new SsePayloads();
  #key: ResponseKey | undefined;

  async begin(secret: RequestSecret, responseNonce: Bytes): Promise<void> {
    this.#key = await ResponseKey.derive(secret, responseNonce);
  }

  async push(bytes: Uint8Array): Promise<readonly string[]> {
    const payloads: string[] = [];
    for (const opened of await this.#open(bytes)) payloads.push(...(await this.#events.push(opened)));
    return payloads;
  }

  async end(): Promise<readonly string[]> {
    this.#frames.end();
    return this.#events.end();
  }

  /** Opens a body that arrived whole. */
  async openAll(body: Bytes): Promise<Bytes> {
    const opened = await this.#open(body);
    this.#frames.end();
    return concat(...opened);
  }

  close(): void {
    this.#key = undefined;
  }

  async #open(bytes: Uint8Array): Promise<Uint8Array[]> {
    const key = this.#key;
    if (key === undefined) throw new Error('A reply is begun with its headers.');
    const opened: Uint8Array[] = [];
    for (const ciphertext of this.#frames.push(bytes)) opened.push(await key.open(ciphertext));
    return opened;
  }
}

/** Opens the chunks of one reply, in their order (EHBP 4.4.1, as in RFC 9458 section 4.4). */
export class ResponseKey {
  readonly #key: AeadKey;
  readonly #firstNonce: Bytes;
  #next = 0;

  private constructor(key: AeadKey, firstNonce: Bytes) {
    this.#key = key;
    this.#firstNonce = firstNonce;
  }

  static async derive({ exported, encapsulatedKey }: RequestSecret, responseNonce: Bytes): Promise<ResponseKey> {
    const salt = concat(encapsulatedKey, responseNonce);
    const derive = (info: string, length: number) => hkdf({ secret: exported, salt, info: utf8(info), length });
    const [key, nonce] = await Promise.all([derive('key', 32), derive('nonce', 12)]);
    return new ResponseKey(await aesGcm.use(key), nonce);
  }

  /** Throws `e2ee_decryption_failed` for a chunk that is damaged, or not the next one. */
  async open(ciphertext: Bytes): Promise<Uint8Array> {
    const nonce = new Uint8Array(this.#firstNonce);
    const view = new DataView(nonce.buffer);
    // A reply has far fewer chunks than 2^32, so the number only changes the last four bytes.
    view.setUint32(8, view.getUint32(8) ^ this.#next);
    this.#next += 1;
    try {
      return await this.#key.open(nonce, ciphertext);
    } catch {
      throw new ClientError('e2ee_decryption_failed');
    }
  }
}

/** The parts of a request's context that the reply's keys are derived from (EHBP 4.4.1). */
interface RequestSecret {
  readonly encapsulatedKey: Bytes;
  readonly exported: Bytes;
}

interface Sent {
  readonly sealed: Bytes;
  readonly secret: RequestSecret;
}

/** Seals one message to an X25519 key: HPKE base mode, AES-256-GCM. Throws `e2ee_key_invalid`. */
export async function sendTo(publicKey: Bytes, message: Bytes, random: RandomBytes): Promise<Sent> {
  const suite = new CipherSuite(kemWith(random), KDF_HKDF_SHA256, AEAD_AES_256_GCM);
  try {
    const recipient = await suite.DeserializePublicKey(publicKey);
    const { encapsulatedSecret, ctx } = await suite.SetupSender(recipient, { info: utf8('ehbp request') });
    const encapsulatedKey = copy(encapsulatedSecret);
    const exported = copy(await ctx.Export(utf8('ehbp response'), 32));
    return { sealed: copy(await ctx.Seal(message)), secret: { encapsulatedKey, exported } };
  } catch (error) {
    // Only the key can cause a failure in these steps: its bytes come from another party.
    const cause = error instanceof Error ? error.cause : undefined;
    throw new ClientError(
      isUnsupported(error) || isUnsupported(cause) ? 'e2ee_platform_unsupported' : 'e2ee_key_invalid',
    );
  }
}

/** The KEM with ephemeral keys from the given randomness, so that tests can repeat a sealing. */
function kemWith(random: RandomBytes): typeof KEM_DHKEM_X25519_HKDF_SHA256 {
  return () => ({ ...KEM_DHKEM_X25519_HKDF_SHA256(), GenerateKeyPair: () => importX25519(random(32)) });
}
