import { createHash, createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const base64url = (bytes: Buffer): string => bytes.toString('base64url');
const sha256 = (bytes: Buffer | string): Buffer => createHash('sha256').update(bytes).digest();

export interface Presence {
  /** The origin of the page. */
  readonly origin: string;
  readonly rpId: string;
  /** Whether the user gave a fingerprint or a PIN. */
  readonly verified?: boolean;
}

/** One passkey of a software authenticator (WebAuthn Level 3, sections 6.1 and 6.5: ES256, attestation `none`). */
export class Authenticator {
  readonly id = base64url(randomBytes(16));
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  #uses = 0;

  /** Returns the result of `navigator.credentials.create` for a challenge, as JSON. */
  register(challenge: string, presence: Presence): object {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');
    const coseKey = Buffer.concat([
      Buffer.from('a5010203262001215820', 'hex'),
      bytes(x),
      Buffer.from('225820', 'hex'),
      bytes(y),
    ]);
    const credentialId = bytes(this.id);
    const length = Buffer.from([0, credentialId.length]);
    const data = Buffer.concat([this.#head(presence, 0x40), Buffer.alloc(16), length, credentialId, coseKey]);
    const attestationObject = Buffer.concat([
      Buffer.from([0xa3]),
      Buffer.concat([Buffer.from([0x63]), Buffer.from('fmt'), Buffer.from([0x64]), Buffer.from('none')]),
      Buffer.concat([Buffer.from([0x67]), Buffer.from('attStmt'), Buffer.from([0xa0])]),
      Buffer.concat([Buffer.from([0x68]), Buffer.from('authData'), Buffer.from([0x58, data.length]), data]),
    ]);
    return this.#credential({
      clientDataJSON: base64url(clientData('webauthn.create', challenge, presence)),
      attestationObject: base64url(attestationObject),
      transports: ['internal'],
    });
  }

  /** Returns the result of `navigator.credentials.get` for a challenge, as JSON. */
  assert(challenge: string, presence: Presence): object {
    const client = clientData('webauthn.get', challenge, presence);
    const data = this.#head(presence, 0);
    return this.#credential({
      clientDataJSON: base64url(client),
      authenticatorData: base64url(data),
      signature: base64url(sign('sha256', Buffer.concat([data, sha256(client)]), this.#keys.privateKey)),
    });
  }

  #credential(response: object): object {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response };
  }

  #head({ rpId, verified = true }: Presence, more: number): Buffer {
    this.#uses += 1;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(this.#uses);
    return Buffer.concat([sha256(rpId), Buffer.from([0x01 | (verified ? 0x04 : 0) | more]), count]);
  }
}

const clientData = (type: string, challenge: string, { origin }: Presence): Buffer =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Returns the code that an authenticator app shows (RFC 6238) for an `otpauth:` URI at a given time. */
export function totpCode(uri: string, now: number): string {
  const bits = [...(new URL(uri).searchParams.get('secret') ?? '')]
    .map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000)));
  const mac = createHmac('sha1', key).update(counter).digest();
  const at = (mac.at(-1) ?? 0) & 15;
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/**
 * Shows the code of half a minute ago, so that the present one is unused. If that half minute ends on the way, the next
 * one is shown. `show` resolves to the status of the answer.
 */
export async function showEarlierCode(uri: string, show: (code: string) => Promise<number>): Promise<number> {
  const status = await show(totpCode(uri, Date.now() - 30_000));
  return status === 401 ? show(totpCode(uri, Date.now() - 30_000)) : status;
}
