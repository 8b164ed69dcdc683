import { randomUUID } from 'node:crypto';
import { noteSkip, redisSkipReason, startTestRedis, type TestRedis } from '@sotto/test-servers';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { password } from '../../kit/signed-up.ts';
import { thoroughly } from '../../kit/thoroughly.ts';
import { type Answer, openWorld, sessionStatus, signIn, useWorld, type Visitor } from './world.ts';

const redis: TestRedis | undefined = await startTestRedis();
if (redis === undefined) noteSkip('limits of several controls together', redisSkipReason);

const fresh = () => `${randomUUID()}@people.example`;
/** The forwarded address, as a trusted proxy sends it. */
const from = (address: string) => ({ 'x-forwarded-for': address });
const wrong = (email: string) => ({ email, password: 'not it at all' });

function expectLimited({ status, headers, json }: Answer): void {
  expect([status, json.error.type]).toEqual([429, 'rate_limited']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
}

describe('the limits of signing in', async () => {
  const world = await useWorld({ limit: 600 });

  const tries = async (
    visitor: Visitor,
    path: string,
    body: (index: number) => object,
    headers: (index: number) => Record<string, string>,
    most = 150,
  ): Promise<number> => {
    for (let index = 0; index < most; index += 1) {
      const answer = await visitor.post(path, body(index), headers(index));
      if (answer.status !== 429) continue;
      expectLimited(answer);
      return index;
    }
    return most;
  };

  it('stop guesses at one account from one address after ten a minute, and do not affect its owner elsewhere', async () => {
    const person = await world.signUp();
    const guess = await tries(
      world.visitor(),
      '/auth/sign-in/email',
      () => wrong(person.email),
      () => from('10.0.0.1'),
    );
    expect(guess).toBe(10);
    expectLimited(await world.visitor().post('/auth/sign-in/email', person, from('10.0.0.1')));
    // Fields that the route does not read must not make it count another account.
    for (const decoy of [{ newEmail: fresh() }, { newEmail: 1 }]) {
      expectLimited(await world.visitor().post('/auth/sign-in/email', { ...person, ...decoy }, from('10.0.0.1')));
    }
    // The same path in another spelling (RFC 3986, 6.2.2.2).
    expectLimited(await world.visitor().post('/auth/sign%2Din/email', person, from('10.0.0.1')));
    const owner = world.visitor();
    expect((await owner.post('/auth/sign-in/email', person, from('10.0.0.2'))).status).toBe(200);
    expect(await sessionStatus(owner)).toBe(200);
  });

  // A hundred guesses cost a hundred hashes, twice.
  thoroughly(
    'stop guesses at one account from everywhere, and are the same for an account that does not exist',
    async () => {
      for (const email of [(await world.signUp()).email, fresh()]) {
        const spread = (index: number) => from(`10.1.${Math.floor(index / 5)}.1`);
        expect(await tries(world.visitor(), '/auth/sign-in/email', () => wrong(email), spread)).toBe(100);
      }
    },
  );

  it('read a body as better-auth does: an ambiguous one is refused', async () => {
    const { email } = await world.signUp();
    const headers = { ...from('10.2.1.1'), origin: world.origin };
    const form = 'application/x-www-form-urlencoded';
    for (const [type, body, status] of [
      [form, new URLSearchParams(wrong(email)).toString(), 415],
      // One parser reads JSON here, another a form with the account.
      [form, `"&email=${encodeURIComponent(email)}&password=${encodeURIComponent(password)}&"`, 415],
      ['application/json', `\uFEFF\uFEFF${JSON.stringify({ email, password })}`, 400],
      ['application/json', JSON.stringify([email]), 400],
    ] as const) {
      const answer = await world.visitor().post('/auth/sign-in/email', body, { ...headers, 'content-type': type });
      expect([type, body, answer.status]).toEqual([type, body, status]);
    }
  });

  it('count a network of IPv6 as one address, because its owner has billions', async () => {
    const guesses = await tries(
      world.visitor(),
      '/auth/reset-password',
      () => ({ token: 'x', newPassword: password }),
      (index) => from(`2001:db8:0:1:${index.toString(16)}::1`),
    );
    expect(guesses).toBe(60);
    const next = await world.visitor().post('/auth/sign-in/email', wrong(fresh()), from('2001:db8:0:2::1'));
    expect(next.status).toBe(401);
  });

  it('count an IPv4 address as itself, also if a proxy or listener writes it as IPv6', async () => {
    const spellings = ['203.0.113.5', '::ffff:203.0.113.5', '::ffff:cb00:7105', '0:0:0:0:0:FFFF:CB00:7105'];
    const guesses = await tries(
      world.visitor(),
      '/auth/reset-password',
      () => ({ token: 'x', newPassword: password }),
      (index) => from(spellings[index % spellings.length] ?? ''),
    );
    expect(guesses).toBe(60);
    // Another address has its own count, and so has the loopback address of IPv6.
    for (const other of ['::ffff:cb00:7106', '::1']) {
      const next = await world.visitor().post('/auth/sign-in/email', wrong(fresh()), from(other));
      expect([other, next.status]).toEqual([other, 401]);
    }
  });

  it('on mail also apply to invitations, so that a workspace cannot flood a recipient', async () => {
    const visitor = await signIn(world.visitor(), await world.signUp());
    const { id } = (await visitor.get('/workspaces')).json.data[0];
    const email = fresh();
    const toOne = await tries(
      visitor,
      `/workspaces/${id}/invitations`,
      () => ({ email, role: 'viewer' }),
      () => from('10.8.0.1'),
    );
    expect(toOne).toBe(5);
    expect((await visitor.post(`/workspaces/${id}/invitations`, { email: fresh(), role: 'viewer' })).status).toBe(201);
  });

  it('count one address over all accounts, and do not restart for a made-up cookie or key', async () => {
    const visitor = world.visitor();
    const guesses = await tries(
      visitor,
      '/auth/sign-in/email',
      () => wrong(fresh()),
      (index) => ({
        ...from('10.3.0.1'),
        cookie: `sotto.session_token=made-up-${index}`,
        origin: world.origin,
        authorization: `Bearer made-up-${index}`,
      }),
    );
    expect(guesses).toBe(60);
    const codes = await tries(
      visitor,
      '/auth/two-factor/verify-totp',
      () => ({ code: '1' }),
      () => from('10.3.0.2'),
    );
    const tokens = await tries(
      visitor,
      '/auth/reset-password',
      () => ({ token: 'x', newPassword: password }),
      () => from('10.3.0.3'),
    );
    const links = await tries(
      visitor,
      '/auth/verify-email',
      () => ({ token: 'x', password }),
      () => from('10.3.0.4'),
    );
    expect([codes, tokens, links]).toEqual([60, 60, 60]);
  });

  it('send few mails to an address, and few at the request of an address', async () => {
    const email = fresh();
    const toOne = await tries(
      world.visitor(),
      '/auth/request-password-reset',
      () => ({ email }),
      (index) => from(`10.4.0.${index}`),
    );
    // Without a mail server the request is refused, but it counts.
    expect(toOne).toBe(5);
    const fromOne = await tries(
      world.visitor(),
      '/auth/request-password-reset',
      () => ({ email: 'ben@else.example' }),
      () => from('10.4.3.1'),
    );
    expect(fromOne).toBe(3);
    const toMany = await tries(
      world.visitor(),
      '/auth/send-verification-email',
      () => ({ email: fresh() }),
      () => from('10.4.1.1'),
    );
    expect(toMany).toBe(30);
    // Links to set a password have their own count, which other mail to the address does not use up.
    const signUp = { name: 'x', email, password };
    const signUps = await tries(
      world.visitor(),
      '/auth/sign-up/email',
      () => signUp,
      (index) => from(`10.4.2.${index}`),
    );
    expect(signUps).toBe(5);
    expectLimited(await world.visitor().post('/auth/send-verification-email', { email }, from('10.4.2.9')));
  });

  it('stop a thief of a cookie from guessing the password beside it, also with other cookies present', async () => {
    const person = await world.signUp();
    const visitor = await signIn(world.visitor(), person);
    const guesses = await tries(
      visitor,
      '/auth/change-password',
      () => ({ currentPassword: 'not it', newPassword: password }),
      (index) => {
        const [[name, value = ''] = []] = visitor.cookies;
        // better-auth reads the same session from each of these.
        const spelled = [
          `a=${index}; ${name}=${value}`,
          `__Secure-${name}=${index}; ${name}=${value}`,
          `${name}=%${value.charCodeAt(0).toString(16)}${value.slice(1)}`,
          `${name}="${value}"`,
        ];
        return { ...from(`10.5.${index}.1`), cookie: spelled[index % 4] ?? '', origin: world.origin };
      },
    );
    expect(guesses).toBe(10);
  });

  it('by session or known device apply instead of those by address, which others may have used up', async () => {
    const person = await world.signUp();
    const visitor = await signIn(world.visitor(), person);
    const address = from('10.9.0.1');
    await tries(
      world.visitor(),
      '/auth/reset-password',
      () => ({ token: 'x', newPassword: password }),
      () => address,
    );
    expectLimited(await world.visitor().post('/auth/sign-in/email', await world.signUp(), address));
    expect((await visitor.post('/auth/sign-in/email', person, address)).status).toBe(200);
    const change = { currentPassword: password, newPassword: `${password} changed` };
    expectLimited(await world.visitor().post('/auth/change-password', change, address));
    const madeUp = { ...address, cookie: 'sotto.session_token=made-up.signature', origin: world.origin };
    expectLimited(await world.visitor().post('/auth/change-password', change, madeUp));
    expect((await visitor.post('/auth/change-password', change, address)).status).toBe(200);
  });

  it('cannot be avoided by a path that only resembles the one of a route', async () => {
    for (const path of ['/auth//sign-in/email', '/auth/sign-in/email/', '/auth/x/../sign-in/email%2f']) {
      const answer = await world.visitor().post(path, wrong(fresh()), from('10.6.0.1'));
      expect([path, answer.status]).toEqual([path, 404]);
    }
  });
});

describe.skipIf(redis === undefined)('several controls on one Redis', () => {
  it('count together', async () => {
    const limitsRedis = new Redis(redis?.url ?? '');
    const world = await openWorld({ limitsRedis, limit: 600 });
    try {
      const person = await world.signUp();
      const doors = [world, await world.another()];
      let answered = 0;
      for (; answered < 30; answered += 1) {
        const visitor = doors[answered % 2]?.visitor();
        if ((await visitor?.post('/auth/sign-in/email', wrong(person.email), from('10.7.0.1')))?.status === 429) break;
      }
      expect(answered).toBe(10);
      const keys = await limitsRedis.keys('*');
      expect(keys.length).toBeGreaterThan(3);
      // The keys reveal no counted name, not even to a guess.
      for (const key of keys) expect(key).toMatch(/^control:limit:[\w-]{22}$/);
      for (const key of keys) expect(await limitsRedis.pttl(key)).toBeGreaterThan(0);
    } finally {
      await world.stop();
      limitsRedis.disconnect();
      await redis?.stop();
    }
  });
});
