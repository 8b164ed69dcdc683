import { randomUUID } from 'node:crypto';
import { smtpMail } from '@sotto/control';
import { freePort } from '@sotto/test-servers';
import { afterAll, describe, expect, it } from 'vitest';
import { openMailbox } from '../../kit/mailbox.ts';
import { until } from '../../kit/service.ts';
import { password } from '../../kit/signed-up.ts';
import { type OpenidServer, openidAt, startProvider, throughProvider } from './openid-server.ts';
import { useWorld, type Visitor } from './world.ts';

const grantUsd = 20;
const mailbox = await openMailbox();
const issuerPort = await freePort();
const world = await useWorld({
  mailer: smtpMail({ url: mailbox.url, from: 'Sotto <no-reply@sotto.example>' }),
  openid: openidAt(issuerPort),
  billing: {
    rails: { test: false, stripe: undefined, btcpay: undefined },
    monthlyGrantNusd: BigInt(grantUsd) * 1_000_000_000n,
  },
});
let provider: OpenidServer | undefined;
afterAll(async () => {
  await mailbox.stop();
  await provider?.stop();
});

const fresh = (): string => `${randomUUID()}@people.example`;
const grantedNow = async (visitor: Visitor): Promise<number> => (await visitor.get('/billing/grant')).json.amount;
/** Waits until the service has given or refused the grant. */
async function granted(visitor: Visitor): Promise<number> {
  const { email } = (await visitor.get('/auth/get-session')).json.user;
  await until(async () => {
    const { rowCount } = await world.pool.query(
      `select from monthly_grants g join accounts a on a.id = g.account_id join auth_user u on u.id = a.user_id
       where u.email = $1`,
      [email],
    );
    return rowCount === 1;
  }, 'the grant is decided');
  return grantedNow(visitor);
}

async function follow(email: string, subject: string, visitor: Visitor): Promise<void> {
  const token = await mailbox.token(email, subject);
  expect((await visitor.post('/auth/verify-email', { token, password })).status).toBe(200);
}
async function join(email = fresh()): Promise<Visitor> {
  await world.signUp(email);
  const visitor = world.visitor();
  await follow(email, 'Confirm your address', visitor);
  return visitor;
}
async function leave(visitor: Visitor, email: string): Promise<void> {
  const left = await visitor.post('/auth/delete-account', { email, password });
  expect(left.status, left.text).toBe(200);
}

describe('the monthly grant', () => {
  it('comes with the verified address, and only once for one mailbox, however often it signs up', async () => {
    const name = randomUUID();
    const email = `${name}@people.example`;
    for (const [index, expected] of [grantUsd, 0, 0, 0].entries()) {
      const visitor = await join(email);
      expect(await grantedNow(visitor), `account ${index}`).toBe(expected);
      await leave(visitor, email);
    }
    expect(await granted(await join(`${name}+other@people.example`))).toBe(0);
    expect(await granted(await join())).toBe(grantUsd);
  });

  it('is not used up by a stranger, who cannot verify the address', async () => {
    const name = randomUUID();
    await world.signUp(`${name}+stranger@people.example`);
    expect(await granted(await join(`${name}@people.example`))).toBe(grantUsd);
  });

  it('counts for every address that the account has had', async () => {
    const [first, second, third] = [fresh(), fresh(), fresh()];
    const visitor = await join(first);
    expect(await granted(visitor)).toBe(grantUsd);
    for (const newEmail of [second, third]) {
      expect((await visitor.post('/auth/change-email', { newEmail, password })).status).toBe(200);
      await follow(newEmail, 'Confirm your new address', visitor);
    }
    // While the account is there, and after it is gone.
    expect(await granted(await join(first))).toBe(0);
    await leave(visitor, third);
    for (const email of [second, third]) expect(await granted(await join(email))).toBe(0);
  });

  it('counts for the OpenID subject, also of an account that began with a password', async () => {
    const subject = randomUUID();
    let email = fresh();
    provider = await startProvider(
      issuerPort,
      `${world.origin}/v1/auth/callback/openid`,
      () => subject,
      () => email,
    );
    const continueWithProvider = async (): Promise<Visitor> => {
      const visitor = world.visitor();
      const { json } = await visitor.post('/auth/sign-in/social', { provider: 'openid', callbackURL: '/' });
      await visitor.get((await throughProvider(json.url)).replace(/^.*\/v1\//, '/'));
      return visitor;
    };
    await join(email);
    const linked = await continueWithProvider();
    expect(await granted(linked)).toBe(grantUsd);
    await leave(linked, email);
    email = fresh();
    expect(await granted(await continueWithProvider())).toBe(0);
  });
});
