import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, decodeBase64, toBase64, toHex } from '@sotto/attestation';
import { isSame } from './merkle.ts';

// Signed notes and their keys: https://c2sp.org/signed-note. Cosignatures of witnesses: https://c2sp.org/tlog-cosignature.

/** The byte before a public key, by what the key signs. */
const kinds = { note: 0x01, cosignature: 0x04 } as const;

/** The public key of a log or of a witness. */
export interface NoteKey {
  readonly name: string;
  /** 4 bytes. They name the key in a signature line. */
  readonly id: Uint8Array;
  readonly kind: keyof typeof kinds;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array;
}

export interface NoteSigner {
  readonly key: NoteKey;
  /** Ed25519, 32 bytes. */
  readonly secret: Uint8Array;
}

export interface Signature {
  readonly name: string;
  readonly id: Uint8Array;
  readonly bytes: Uint8Array;
}

export interface SignedNote {
  /** With its last line break. */
  readonly text: string;
  readonly signatures: readonly Signature[];
}

const utf8 = new TextEncoder();
/** Control characters could steer a terminal that shows the name. */
const isName = (name: string): boolean => /^[^\s+\p{C}]{1,128}$/u.test(name);

const idOf = (name: string, kind: number, publicKey: Uint8Array): Uint8Array =>
  sha256(concatBytes(utf8.encode(`${name}\n`), Uint8Array.of(kind), publicKey)).subarray(0, 4);

/** Reads a public key, such as `log.example.com+1a2b3c4d+AQ…`. Returns undefined for anything else. */
export function readNoteKey(text: string): NoteKey | undefined {
  const [, name = '', id = '', data = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(text) ?? [];
  const bytes = decodeBase64(data);
  if (bytes?.length !== 33 || !isName(name)) return undefined;
  const [first = 0] = bytes;
  const publicKey = bytes.subarray(1);
  const kind = (Object.keys(kinds) as (keyof typeof kinds)[]).find((each) => kinds[each] === first);
  const own = idOf(name, first, publicKey);
  return kind === undefined || toHex(own) !== id ? undefined : { name, id: own, kind, publicKey };
}

export const noteKeyText = ({ name, id, kind, publicKey }: NoteKey): string =>
  `${name}+${toHex(id)}+${toBase64(concatBytes(Uint8Array.of(kinds[kind]), publicKey))}`;

/** Makes the key of a log from 32 random bytes. Returns undefined for a name that notes do not allow. */
export function noteSigner(name: string, secret: Uint8Array): NoteSigner | undefined {
  if (!isName(name)) return undefined;
  const publicKey = ed25519.getPublicKey(secret);
  return { key: { name, id: idOf(name, kinds.note, publicKey), kind: 'note', publicKey }, secret };
}

/** Writes a private key in the form of Go's `golang.org/x/mod/sumdb/note`. */
export const noteSignerText = ({ key: { name, id }, secret }: NoteSigner): string =>
  `PRIVATE+KEY+${name}+${toHex(id)}+${toBase64(concatBytes(Uint8Array.of(kinds.note), secret))}`;

export function readNoteSigner(text: string): NoteSigner | undefined {
  const [, name = '', id = '', data = ''] = /^PRIVATE\+KEY\+([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(text.trim()) ?? [];
  const bytes = decodeBase64(data);
  if (bytes?.length !== 33 || bytes[0] !== kinds.note) return undefined;
  const signer = noteSigner(name, bytes.subarray(1));
  return signer !== undefined && toHex(signer.key.id) === id ? signer : undefined;
}

/** Signs a text that ends in a line break. */
export function signNote(text: string, { key, secret }: NoteSigner): string {
  const signature = ed25519.sign(utf8.encode(text), secret);
  return `${text}\n${signatureLine({ name: key.name, id: key.id, bytes: signature })}`;
}

const signatureLine = ({ name, id, bytes }: Signature): string => `— ${name} ${toBase64(concatBytes(id, bytes))}\n`;

/** Reads a note. Returns undefined if the text is none. It verifies no signature. */
export function readNote(text: string): SignedNote | undefined {
  const end = text.lastIndexOf('\n\n');
  if (end < 0 || !text.endsWith('\n')) return undefined;
  const signatures = text
    .slice(end + 2, -1)
    .split('\n')
    .map(readSignature);
  const known = signatures.filter((each) => each !== undefined);
  return known.length === signatures.length ? { text: text.slice(0, end + 1), signatures: known } : undefined;
}

function readSignature(line: string): Signature | undefined {
  const [, name = '', data = ''] = /^— (\S+) (\S+)$/u.exec(line) ?? [];
  const bytes = decodeBase64(data);
  if (!isName(name) || bytes === undefined || bytes.length < 5) return undefined;
  return { name, id: bytes.subarray(0, 4), bytes: bytes.subarray(4) };
}

/** Whether the key of a log signed the note. */
export const isSignedBy = ({ text, signatures }: SignedNote, key: NoteKey): boolean =>
  key.kind === 'note' &&
  signatures.some((signature) => isOf(signature, key) && verifies(signature.bytes, utf8.encode(text), key));

/** The Unix seconds at which a witness cosigned the note. Undefined if it did not. */
export function cosignedAt({ text, signatures }: SignedNote, key: NoteKey): number | undefined {
  for (const signature of signatures) {
    if (key.kind !== 'cosignature' || !isOf(signature, key) || signature.bytes.length !== 72) continue;
    const { buffer, byteOffset } = signature.bytes;
    const seconds = Number(new DataView(buffer, byteOffset, 8).getBigUint64(0));
    const signed = utf8.encode(`cosignature/v1\ntime ${seconds}\n${text}`);
    if (verifies(signature.bytes.subarray(8), signed, key)) return seconds;
  }
  return undefined;
}

const isOf = ({ name, id }: Signature, key: NoteKey): boolean => name === key.name && isSame(id, key.id);

const verifies = (signature: Uint8Array, message: Uint8Array, { publicKey }: NoteKey): boolean =>
  signature.length === 64 && verifiesEd25519(signature, message, publicKey);

/** Strict verification (RFC 8032). The library throws for a public key that is no point of the curve. */
export function verifiesEd25519(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, message, publicKey, { zip215: false });
  } catch {
    return false;
  }
}
