import { ClientError } from '../../errors.ts';
import { type Bytes, concat, utf8 } from '../bytes.ts';
import type { AeadKey } from '../ciphers/aead.ts';
import { aesGcm } from '../ciphers/aes-gcm.ts';
import { hkdf } from '../ciphers/hkdf.ts';
import type { RequestSecret } from './hpke.ts';

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
    // A reply has far fewer chunks than 2^32: the number only ever touches the last four bytes.
    view.setUint32(8, view.getUint32(8) ^ this.#next);
    this.#next += 1;
    try {
      return await this.#key.open(nonce, ciphertext);
    } catch {
      throw new ClientError('e2ee_decryption_failed');
    }
  }
}
