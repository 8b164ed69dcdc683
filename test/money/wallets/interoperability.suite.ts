import { constants, privateDecrypt, randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { publicVerif, TOKEN_TYPES, Token, TokenChallenge } from '@cloudflare/privacypass-ts';
import { signedCreditsSchema } from '@sotto/wire';
import { expect, it } from 'vitest';
import { expectError } from '../../kit/expect-error.ts';
import { post } from '../../kit/send.ts';
import type { Service } from '../../kit/service.ts';
import { issuerName, makeCode, makeHome, type makeIssuer, payingPerson } from '../../kit/wallets.ts';

/** What the suite uses of the service: one that issues credits. */
interface IssuingStage {
  readonly service: Service;
  readonly standIns: { readonly issuer: Awaited<ReturnType<typeof makeIssuer>> };
}
/** Buys a batch with a code into the purse of a home. */
type Buy = (home: string, code: string) => Promise<{ readonly code: number | null }>;

/** Our client and service with another implementation of Privacy Pass. */
export function interoperability(stage: IssuingStage, buy: Buy): void {
  const url = (path: string): string => `${stage.service.controlUrl}${path}`;

  it('interoperates with another implementation of Privacy Pass, both ways', async () => {
    const { service, standIns } = stage;
    const { spki, keyId, privateKey } = standIns.issuer;
    const person = await payingPerson(service);
    const challenge = new TokenChallenge(TOKEN_TYPES.BLIND_RSA.value, issuerName, new Uint8Array(0), [issuerName]);
    // Theirs asks, ours signs and takes the tokens.
    const batch = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const client = new publicVerif.Client(publicVerif.BlindRSAMode.PSS);
        const { blindedMsg } = await client.createTokenRequest(challenge, new Uint8Array(spki));
        return { client, blinded: Buffer.from(blindedMsg).toString('base64url') };
      }),
    );
    const code = await makeCode(service, person.session);
    const asked = { code, key_id: keyId, blinded: batch.map(({ blinded }) => blinded) };
    const answer = await post(url('/credits'), asked);
    expect(answer.status, answer.text).toBe(200);
    const { signatures } = signedCreditsSchema.parse(answer.json);
    const tokens = await Promise.all(
      batch.map(async ({ client }, at) => {
        const response = new publicVerif.TokenResponse(new Uint8Array(Buffer.from(signatures[at] ?? '', 'base64url')));
        return Buffer.from((await client.finalize(response)).serialize()).toString('base64url');
      }),
    );
    const [key_hash, close_hash] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')];
    const deposited = await post(url('/wallets'), { key_hash, close_hash, credits: tokens });
    expect(deposited.status, deposited.text).toBe(204);
    expectError(
      await post(url('/wallets'), { key_hash: close_hash, close_hash: key_hash, credits: tokens }),
      409,
      'credits_spent',
    );

    // Ours asks, theirs verifies the tokens.
    const { home, purse: file } = await makeHome(standIns.issuer, 'interop');
    expect((await buy(home, await makeCode(service, person.session))).code).toBe(0);
    const database = new DatabaseSync(file);
    const stored = database.prepare('select token from credits').all() as { token: Uint8Array }[];
    database.close();
    expect(stored).toHaveLength(50);
    const algorithm = { name: 'RSA-PSS', hash: 'SHA-384' };
    const theirKey = await crypto.subtle.importKey('spki', spkiOfRsa(spki), algorithm, true, ['verify']);
    const origin = new publicVerif.Origin(publicVerif.BlindRSAMode.PSS, [issuerName]);
    for (const { token } of stored) {
      const parsed = Token.deserialize(TOKEN_TYPES.BLIND_RSA, new Uint8Array(token));
      expect(await origin.verify(parsed, theirKey)).toBe(true);
    }
    // The signature is what the key makes of the blinded number, and nothing else.
    const number = Buffer.from(batch[0]?.blinded ?? '', 'base64url');
    const raw = privateDecrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, number);
    expect(raw.toString('base64url')).toBe(signatures[0]);
  });
}

/** A DER SPKI of plain RSA, which Web Cryptography imports, from one of RSASSA-PSS. */
function spkiOfRsa(spki: Buffer): Uint8Array<ArrayBuffer> {
  const head = Buffer.from('30820122300d06092a864886f70d01010105000382010f00', 'hex');
  return new Uint8Array(Buffer.concat([head, spki.subarray(-270)]));
}
