import { describe, expect, it } from 'vitest';
import { totpCode } from '../../kit/authenticator.ts';
import { password } from '../../kit/signed-up.ts';
import { enrolled, halfSignedIn, verified } from './people.ts';
import { sessionStatus, signIn, useWorld, type Visitor } from './world.ts';

const world = await useWorld();

describe('an authenticator app', () => {
  it('is enrolled with the password, is active after a first code, and then is the second step of a sign-in', async () => {
    const ann = await verified(world);
    expect((await ann.visitor.post('/auth/two-factor/enable', { password: 'not it' })).status).toBe(400);
    const { json } = await ann.visitor.post('/auth/two-factor/enable', { password });
    expect(json.backupCodes).toHaveLength(10);
    // It is not active before the app has shown that it works.
    expect(await sessionStatus(await signIn(world.visitor(), ann))).toBe(200);
    expect((await ann.visitor.post('/auth/two-factor/verify-totp', { code: '000000' })).status).toBe(401);

    const code = totpCode(json.totpURI, Date.now());
    expect((await ann.visitor.post('/auth/two-factor/verify-totp', { code })).status).toBe(200);
    expect((await ann.visitor.get('/auth/get-session')).json.user.twoFactorEnabled).toBe(true);

    const visitor = await halfSignedIn(world, ann);
    const next = totpCode(json.totpURI, Date.now() + 30_000);
    const done = await visitor.post('/auth/two-factor/verify-totp', { code: next });
    expect(done.status, done.text).toBe(200);
    expect(await sessionStatus(visitor)).toBe(200);
  });

  it('accepts each of its codes once, also of two at once', async () => {
    const ann = await enrolled(world);
    const code = totpCode(ann.uri, Date.now());
    const both = await Promise.all([await halfSignedIn(world, ann), await halfSignedIn(world, ann)]);
    const answers = await Promise.all(both.map((visitor) => visitor.post('/auth/two-factor/verify-totp', { code })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    const again = await (await halfSignedIn(world, ann)).post('/auth/two-factor/verify-totp', { code });
    expect([again.status, again.json.error.message]).toEqual([401, expect.stringMatching(/used already/)]);
  });

  it('ends a sign-in after five wrong codes, and is locked after ten', async () => {
    const ann = await enrolled(world);
    const wrong = async (visitor: Visitor, from: number) => {
      for (let code = from; code < from + 5; code += 1) {
        const answer = await visitor.post('/auth/two-factor/verify-totp', { code: String(code) });
        expect(answer.status).toBe(401);
      }
    };
    const first = await halfSignedIn(world, ann);
    await wrong(first, 1);
    const over = await first.post('/auth/two-factor/verify-totp', { code: totpCode(ann.uri, Date.now()) });
    expect(over.status).toBe(400);
    await wrong(await halfSignedIn(world, ann), 11);
    const locked = await (await halfSignedIn(world, ann)).post('/auth/two-factor/verify-backup-code', {
      code: ann.backupCodes[0],
    });
    expect([locked.status, locked.json.error.type]).toEqual([429, 'rate_limited']);
  });

  it('does nothing without the first step, and cannot be skipped for a month', async () => {
    const ann = await enrolled(world);
    const code = totpCode(ann.uri, Date.now());
    expect((await world.visitor().post('/auth/two-factor/verify-totp', { code })).status).toBe(401);
    const visitor = await halfSignedIn(world, ann);
    expect((await visitor.post('/auth/two-factor/verify-totp', { code, trustDevice: true })).status).toBe(400);
    expect((await visitor.post('/auth/two-factor/send-otp')).status).toBe(404);
    expect((await ann.visitor.post('/auth/two-factor/get-totp-uri', { password })).status).toBe(404);
  });

  it('is removed with the password alone', async () => {
    const ann = await enrolled(world);
    expect((await ann.visitor.post('/auth/two-factor/disable', { password: 'not it' })).status).toBe(400);
    expect((await ann.visitor.post('/auth/two-factor/disable', { password })).status).toBe(200);
    expect(await sessionStatus(ann.visitor)).toBe(200);
    await signIn(world.visitor(), ann);
    const { rowCount } = await world.pool.query(
      'select 1 from auth_two_factor t join auth_user u on u.id = t.user_id where u.email = $1',
      [ann.email],
    );
    expect(rowCount).toBe(0);
  });
});

describe('backup codes', () => {
  it('work once each, and are stored encrypted, as the secret is', async () => {
    const ann = await enrolled(world);
    const [code = ''] = ann.backupCodes;
    const visitor = await halfSignedIn(world, ann);
    expect((await visitor.post('/auth/two-factor/verify-backup-code', { code: 'aaaaa-aaaaa' })).status).toBe(401);
    expect((await visitor.post('/auth/two-factor/verify-backup-code', { code })).status).toBe(200);
    expect(await sessionStatus(visitor)).toBe(200);
    const again = await (await halfSignedIn(world, ann)).post('/auth/two-factor/verify-backup-code', { code });
    expect(again.status).toBe(401);
    const { rows } = await world.pool.query<{ row: string }>('select t::text as row from auth_two_factor t');
    const secret = new URL(ann.uri).searchParams.get('secret') ?? 'none';
    for (const { row } of rows) for (const told of [...ann.backupCodes, secret]) expect(row).not.toContain(told);
  });

  it('are all replaced with the password', async () => {
    const ann = await enrolled(world);
    expect((await ann.visitor.post('/auth/two-factor/generate-backup-codes', { password: 'not it' })).status).toBe(400);
    const { json } = await ann.visitor.post('/auth/two-factor/generate-backup-codes', { password });
    expect(json.backupCodes).toHaveLength(10);
    const visitor = await halfSignedIn(world, ann);
    const old = await visitor.post('/auth/two-factor/verify-backup-code', { code: ann.backupCodes[0] });
    expect(old.status).toBe(401);
    const fresh = await visitor.post('/auth/two-factor/verify-backup-code', { code: json.backupCodes[9] });
    expect(fresh.status).toBe(200);
  });
});
