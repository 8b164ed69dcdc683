import { ed25519 } from '@noble/curves/ed25519.js';
import { concatBytes, decodeBase64, toBase64, toHex } from '@sotto/attestation';
import * as z from 'zod';
import { type NoteKey, type NoteSigner, verifiesEd25519 } from './log/signed-note.ts';
import { statementMediaType as payloadType } from './statement.ts';

// Dead Simple Signing Envelope: https://github.com/secure-systems-lab/dsse

export const envelopeSchema = z.strictObject({
  /** Base64. */
  payload: z.string().max(65_536),
  payloadType: z.literal(payloadType),
  signatures: z.array(z.strictObject({ keyid: z.string().max(256), sig: z.string().max(128) })).length(1),
});
export type Envelope = z.infer<typeof envelopeSchema>;

const signedBytes = (payload: Uint8Array): Uint8Array =>
  concatBytes(new TextEncoder().encode(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `), payload);

const keyId = ({ name, id }: NoteKey): string => `${name}+${toHex(id)}`;

export function signEnvelope(payload: Uint8Array, { key, secret }: NoteSigner): Envelope {
  const sig = toBase64(ed25519.sign(signedBytes(payload), secret));
  return { payload: toBase64(payload), payloadType, signatures: [{ keyid: keyId(key), sig }] };
}

/** Returns the payload, or undefined if the key did not sign it. */
export function openEnvelope({ payload: base64, signatures }: Envelope, key: NoteKey): Uint8Array | undefined {
  const payload = decodeBase64(base64);
  const signature = decodeBase64(signatures[0]?.sig ?? '');
  if (payload === undefined || signature === undefined) return undefined;
  return verifiesEd25519(signature, signedBytes(payload), key.publicKey) ? payload : undefined;
}
