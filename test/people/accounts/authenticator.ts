import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const base64url = (bytes: Buffer): string => bytes.toString('base64url');
const sha256 = (bytes: Buffer | string): Buffer => createHash('sha256').update(bytes).digest();

export interface Presence {
  /** The page's origin. */
  readonly origin: string;
  readonly rpId: string;
  /** Whether a fingerprint or a PIN was shown. */
  readonly verified?: boolean;
}

/** One passkey of a software authenticator (WebAuthn Level 3, 6.1 and 6.5: ES256, attestation `none`). */
export class Authenticator {
  readonly id = base64url(randomBytes(16));
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  #uses = 0;

  /** What `navigator.credentials.create` gives for a challenge, as JSON. */
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

  /** What `navigator.credentials.get` gives for a challenge, as JSON. */
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
