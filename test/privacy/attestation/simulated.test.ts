import { randomBytes } from 'node:crypto';
import { gatewayEvidenceSchema, verifyGateway } from '@sotto/attestation';
import { expect, it } from 'vitest';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';
import { outcomes } from './world.ts';

await describeStage('a gateway without hardware', oneModel, (stage) => {
  const ask = (query: string): Promise<Response> =>
    fetch(`${stage.service.baseUrl}/gateway/attestation${query}`, { headers: { origin: 'https://page.example' } });
  const verify = (document: unknown, nonce: string) =>
    verifyGateway(document, { nonce, origin: new URL(stage.service.baseUrl).origin, pins: {}, now: new Date() });

  it('returns evidence that says it is simulated, binds the nonce and the origin, and is untrusted', async () => {
    const nonce = randomBytes(32).toString('hex');
    const answer = await ask(`?nonce=${nonce}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
    const document = gatewayEvidenceSchema.parse(await answer.json());
    expect(document.evidence).toMatchObject({ tee_type: 'simulated', simulated: true });
    const verified = await verify(document, nonce);
    expect(outcomes(verified.checks, 'failed')).toEqual(['simulated.hardware']);
    expect(verified).toMatchObject({ verdict: 'untrusted', keySet: document.key_set });
    expect(verified.keySet).toMatchObject({
      tls_public_keys: [],
      receipt_signing_keys: [{ algorithm: 'ed25519' }],
      e2ee_public_keys: [],
    });
  });

  it('binds no other nonce and no other origin', async () => {
    const nonce = randomBytes(32).toString('hex');
    const document = await (await ask(`?nonce=${nonce}`)).json();
    const other = await verify(document, randomBytes(32).toString('hex'));
    expect(outcomes(other.checks, 'failed')).toContain('simulated.signature');
    const elsewhere = { nonce, origin: 'https://other.example', pins: {}, now: new Date() };
    expect(outcomes((await verifyGateway(document, elsewhere)).checks, 'failed')).toContain('simulated.signature');
  });

  it('accepts a nonce in either case, and states it in lower case', async () => {
    const nonce = 'AbCdEf0123456789'.repeat(4);
    const verified = await verify(await (await ask(`?nonce=${nonce}`)).json(), nonce.toLowerCase());
    expect(outcomes(verified.checks, 'failed')).toEqual(['simulated.hardware']);
  });

  const digits = 'ab'.repeat(32);
  it.each([
    ['none', '', /is required: exactly 64 hex digits/],
    ['an empty one', '?nonce=', /must be exactly 64 hex digits/],
    ['63 digits', `?nonce=${digits.slice(1)}`, /must be exactly 64 hex digits/],
    ['65 digits', `?nonce=${digits}0`, /must be exactly 64 hex digits/],
    ['16 bytes', `?nonce=${digits.slice(32)}`, /must be exactly 64 hex digits/],
    ['a 0x before it', `?nonce=0x${digits}`, /without `0x`/],
    ['a 0x within its 64', `?nonce=0x${digits.slice(2)}`, /without `0x`/],
    ['a letter that is no digit', `?nonce=g${digits.slice(1)}`, /must be exactly 64 hex digits/],
    ['a space', `?nonce=%20${digits.slice(1)}`, /must be exactly 64 hex digits/],
    ['a line break after it', `?nonce=${digits}%0a`, /must be exactly 64 hex digits/],
    ['two', `?nonce=${digits}&nonce=${digits}`, /exactly once/],
    ['another name', `?Nonce=${digits}`, /is required/],
  ])('refuses %s, and states the right form', async (_, query, message) => {
    const answer = await ask(query);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    const { error } = (await answer.json()) as { error: { message: string } };
    expect(error).toMatchObject({ type: 'invalid_request', param: 'nonce', message: expect.stringMatching(message) });
  });

  it('serves no other method on this path', async () => {
    const answer = await fetch(`${stage.service.baseUrl}/gateway/attestation`, { method: 'POST' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});
