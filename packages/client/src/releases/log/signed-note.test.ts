import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  cosignedAt,
  isSignedBy,
  noteKeyText,
  noteSigner,
  noteSignerText,
  readNote,
  readNoteKey,
  readNoteSigner,
  signNote,
} from './signed-note.ts';

// The example of Go's golang.org/x/mod/sumdb/note.
const peter = {
  secret: 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz',
  key: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  text: "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
  line: '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
};

describe('a note of Go’s', () => {
  it('is signed to the same bytes, and verifies', () => {
    const signer = readNoteSigner(peter.secret);
    const key = readNoteKey(peter.key);
    if (signer === undefined || key === undefined) throw new Error('a key is not read');
    expect(noteKeyText(signer.key)).toBe(peter.key);
    expect(noteSignerText(signer)).toBe(peter.secret);
    const signed = signNote(peter.text, signer);
    expect(signed).toBe(`${peter.text}\n${peter.line}`);
    const note = readNote(signed);
    expect(note && isSignedBy(note, key)).toBe(true);
    const changed = readNote(signed.replace('your', 'our'));
    expect(changed && isSignedBy(changed, key)).toBe(false);
    const renamed = noteSigner('Peter', signer.secret);
    expect(note && renamed && isSignedBy(note, renamed.key)).toBe(false);
  });

  it.each([
    ['an id of another name', peter.key.replace('Peter', 'Paul')],
    ['another id', peter.key.replace('c74f20a3', 'c74f20a4')],
    ['another kind of key', 'TEST+7997405c+CQcC+FTVKf0jlTdHDY3rbevmnKxxPjigCXlVtGe6RIr6'],
    ['a key of another length', 'rekor.sigstore.dev+12345678+AwEB'],
    ['no name', '+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'],
    ['two parts', 'bananas.sigstore.dev+12344556'],
  ])('is verified by no key with %s', (_, text) => {
    expect(readNoteKey(text)).toBeUndefined();
  });

  it.each([
    ['no signature', peter.text],
    ['no line break at its end', `${peter.text}\n${peter.line}`.slice(0, -1)],
    ['a line that is no signature', `${peter.text}\n${peter.line}signed\n`],
    ['a hyphen in place of the dash', `${peter.text}\n${peter.line.replace('—', '-')}`],
  ])('is none with %s', (_, text) => {
    expect(readNote(text)).toBeUndefined();
  });
});

describe('a checkpoint of Sigstore’s log', () => {
  const bundle = JSON.parse(
    readFileSync(new URL('../../../vectors/sigstore/rekor2-bundle.json', import.meta.url), 'utf8'),
  );
  const text: string = bundle.verificationMaterial.tlogEntries[0].inclusionProof.checkpoint.envelope;
  // The keys that these witnesses publish.
  const mullvad = 'witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv';
  const geomys = 'witness.navigli.sunlight.geomys.org+a3e00fe2+BNy/co4C1Hn1p+INwJrfUlgz7W55dSZReusH/GhUhJ/G';
  const cosigned = (key: string, of = text): number | undefined => {
    const [note, witness] = [readNote(of), readNoteKey(key)];
    return note && witness && cosignedAt(note, witness);
  };

  it('has cosignatures of its witnesses, with their time', () => {
    expect(cosigned(mullvad)).toBe(Date.parse('2026-05-13T19:23:34Z') / 1000);
    expect(cosigned(geomys)).toBe(cosigned(mullvad));
    expect(cosigned(mullvad, text.replace('4026479', '4026478'))).toBeUndefined();
    expect(cosigned(mullvad, text.replace('Z/euoAAAAABqBM+2', 'Z/euoAAAAABqBM+3'))).toBeUndefined();
    expect(cosigned(peter.key)).toBeUndefined();
  });
});
