import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from 'hpke';
import { ClientError } from '../../errors.ts';
import { type Bytes, copy, type RandomBytes, utf8 } from '../bytes.ts';
import { isUnsupported } from '../ciphers/unsupported.ts';
import { importX25519 } from '../ciphers/x25519.ts';

/** What of a request's context the reply's keys are derived from (EHBP 4.4.1). */
export interface RequestSecret {
  readonly encapsulatedKey: Bytes;
  readonly exported: Bytes;
}

export interface Sent {
  readonly encapsulatedKey: Bytes;
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
    return { encapsulatedKey, sealed: copy(await ctx.Seal(message)), secret: { encapsulatedKey, exported } };
  } catch (error) {
    // Of these steps only the key's own can fail: its bytes are from outside.
    const cause = error instanceof Error ? error.cause : undefined;
    throw new ClientError(
      isUnsupported(error) || isUnsupported(cause) ? 'e2ee_platform_unsupported' : 'e2ee_key_invalid',
    );
  }
}

/** The KEM with its ephemeral keys made from given randomness, so that a sealing can be repeated in tests. */
function kemWith(random: RandomBytes): typeof KEM_DHKEM_X25519_HKDF_SHA256 {
  return () => ({ ...KEM_DHKEM_X25519_HKDF_SHA256(), GenerateKeyPair: () => importX25519(random(32)) });
}
