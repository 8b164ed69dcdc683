import { ClientError, type ClientErrorCode } from '../../errors.ts';
import { type Bytes, concat, fromHex, fromUtf8, type RandomBytes, toHex, utf8 } from '../bytes.ts';
import { type Aead, type AeadKey, tagBytes } from './aead.ts';
import { hkdf } from './hkdf.ts';
import { isUnsupported, type KeyAgreement, type KeyPair } from './key-agreement.ts';

/** Encrypts single fields as lower-case hex of ephemeral key ‖ nonce ‖ ciphertext ‖ tag. */
export interface FieldCipher {
  /**
   * Encrypts one field to a published key, under a new ephemeral key and nonce. Throws `e2ee_key_invalid` if the
   * published key is not a point of the curve, or one of low order.
   */
  seal(recipient: Bytes, text: string, using: { readonly random: RandomBytes; readonly aad?: string }): Promise<string>;
  /** Creates a key for replies. The headers name its public half; `opener` takes the pair. */
  makeReplyKey(random: RandomBytes): Promise<KeyPair>;
  /** Opens the fields encrypted to one key. Its `close` erases the key. */
  opener(replyKey: KeyPair): FieldOpener;
}

export interface FieldOpener {
  /**
   * Opens one field. Throws:
   *
   * - `e2ee_reply_not_encrypted` for anything but a ciphertext
   * - `e2ee_reply_out_of_order` for a field that was opened before
   * - `e2ee_decryption_failed` for a ciphertext that does not verify
   * - `e2ee_reply_malformed` for text that is not UTF-8
   */
  open(field: string, aad?: string): Promise<string>;
  close(): void;
}

/** The construction that all field schemes share. They differ in curve, HKDF info and cipher. */
export function fieldCipher(agreement: KeyAgreement, info: string, aead: Aead): FieldCipher {
  const deriveKey = async (secret: Bytes): Promise<AeadKey> => {
    const key = await hkdf({ secret, info: utf8(info), length: 32 });
    secret.fill(0);
    return aead.use(key);
  };
  return {
    makeReplyKey: (random) => agreement.makePublishedKeyPair(random),
    async seal(recipient, text, { random, aad }) {
      const ephemeral = await agreement.makeKeyPair(random);
      const secret = await orElse('e2ee_key_invalid', async () => ephemeral.agree(agreement.fromPublished(recipient)));
      ephemeral.close();
      const key = await deriveKey(secret);
      const nonce = random(aead.nonceBytes);
      const sealed = await key.seal(nonce, utf8(text), aad === undefined ? undefined : utf8(aad));
      key.close();
      return toHex(concat(ephemeral.publicKey, nonce, sealed));
    },
    opener: (replyKey) => new Opener({ agreement, aead, deriveKey, replyKey }),
  };
}

interface OpenerParts {
  readonly agreement: KeyAgreement;
  readonly aead: Aead;
  deriveKey(secret: Bytes): Promise<AeadKey>;
  readonly replyKey: KeyPair;
}

class Opener implements FieldOpener {
  readonly #parts: OpenerParts;
  /** Some enclaves use one ephemeral key for a whole reply; its key is derived once. */
  #last: { readonly ephemeral: string; readonly key: AeadKey } | undefined;
  /** Detects replays: nonces are random, so an ephemeral key and nonce seen twice were repeated by an attacker. */
  readonly #seen = new Set<string>();

  constructor(parts: OpenerParts) {
    this.#parts = parts;
  }

  async open(field: string, aad?: string): Promise<string> {
    const wire = fromHex(field);
    const { agreement, aead } = this.#parts;
    const nonceAt = agreement.publicKeyBytes;
    const sealedAt = nonceAt + aead.nonceBytes;
    if (wire === undefined || wire.length < sealedAt + tagBytes) throw new ClientError('e2ee_reply_not_encrypted');
    const nonce = wire.slice(nonceAt, sealedAt);
    const head = toHex(wire.subarray(0, sealedAt));
    if (this.#seen.has(head)) throw new ClientError('e2ee_reply_out_of_order');
    this.#seen.add(head);
    const key = await this.#keyOf(wire.slice(0, nonceAt));
    let opened: Uint8Array;
    try {
      opened = await key.open(nonce, wire.slice(sealedAt), aad === undefined ? undefined : utf8(aad));
    } catch {
      throw new ClientError('e2ee_decryption_failed');
    }
    const text = fromUtf8(opened, 'e2ee_reply_malformed');
    opened.fill(0);
    return text;
  }

  close(): void {
    this.#parts.replyKey.close();
    this.#last?.key.close();
    this.#last = undefined;
  }

  async #keyOf(ephemeral: Bytes): Promise<AeadKey> {
    const name = toHex(ephemeral);
    if (this.#last?.ephemeral === name) return this.#last.key;
    const { replyKey, deriveKey } = this.#parts;
    const key = await deriveKey(await orElse('e2ee_decryption_failed', () => replyKey.agree(ephemeral)));
    this.#last?.key.close();
    this.#last = { ephemeral: name, key };
    return key;
  }
}

/** Runs a step that fails for an unusable key of another party. */
async function orElse(code: ClientErrorCode, agree: () => Promise<Bytes>): Promise<Bytes> {
  try {
    return await agree();
  } catch (error) {
    throw new ClientError(isUnsupported(error) ? 'e2ee_platform_unsupported' : code);
  }
}
