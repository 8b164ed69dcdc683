import { smtpMail } from '@sotto/control';
import { noteSkip, redisSkipReason, startTestRedis, type TestRedis, until } from '@sotto/test-servers';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { openMailbox } from '../../kit/mailbox.ts';
import { password } from '../../kit/signed-up.ts';
import { verified } from './people.ts';
import { type AccountsWorld, openWorld, type Person, signIn, useWorld, type Visitor } from './world.ts';

type Door = Pick<AccountsWorld, 'visitor'>;

const from = (address: string) => ({ 'x-forwarded-for': address });
const deviceCookie = 'sotto.device';

/** Guesses from a new network each time. Resolves to how many were answered before the account reached its limit. */
async function guessFromEverywhere(door: Door, { email }: Person): Promise<number> {
  for (let index = 0; index < 200; index += 1) {
    const guess = { email, password: 'not it at all' };
    const { status } = await door.visitor().post('/auth/sign-in/email', guess, from(`10.20.${index}.1`));
    if (status === 429) return index;
  }
  throw new Error('the account is never full');
}

let networks = 0;
/** Signs in from a new network. */
const signInAs = async (visitor: Visitor, { email, password }: Person): Promise<number> =>
  (await visitor.post('/auth/sign-in/email', { email, password }, from(`10.21.${networks++}.1`))).status;

/** A browser that has only the device cookie of another. */
function withDeviceOf(door: Door, other: Visitor, change = (value: string) => value): Visitor {
  const visitor = door.visitor();
  visitor.cookies.set(deviceCookie, change(other.cookies.get(deviceCookie) ?? ''));
  return visitor;
}

describe('a device that has signed in before', async () => {
  const world = await useWorld();
  /** A control with real limits. The first control of the world has almost none. */
  const strict = await world.another({ limit: 60 });

  it('signs in after strangers have used up the tries of its account; a new device waits', async () => {
    const ann = await verified(world);
    const eve = await verified(world);
    expect(await guessFromEverywhere(strict, ann)).toBe(10);
    expect(await signInAs(strict.visitor(), ann)).toBe(429);
    expect(await signInAs(withDeviceOf(strict, ann.visitor), ann)).toBe(200);
    // The cookie of another account, a changed one, and a made-up one.
    expect(await signInAs(withDeviceOf(strict, eve.visitor), ann)).toBe(429);
    const changed = (value: string) => `${value.slice(0, -3)}${value.endsWith('AAA') ? 'BBB' : 'AAA'}`;
    expect(await signInAs(withDeviceOf(strict, ann.visitor, changed), ann)).toBe(429);
    const madeUp = () => `${'a'.repeat(22)}.${'b'.repeat(43)}`;
    expect(await signInAs(withDeviceOf(strict, ann.visitor, madeUp), ann)).toBe(429);
  });

  it('has few tries itself, so that a stolen cookie cannot guess a password', async () => {
    const ann = await verified(world);
    const statuses = [];
    for (let tries = 0; tries < 5; tries += 1) {
      const visitor = withDeviceOf(strict, ann.visitor);
      const guess = { email: ann.email, password: 'not it at all' };
      statuses.push((await visitor.post('/auth/sign-in/email', guess, from(`10.22.${tries}.1`))).status);
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
  });

  it('becomes unknown after the password has changed', async () => {
    const ann = await verified(world);
    const old = withDeviceOf(strict, ann.visitor);
    const newPassword = 'another long password';
    const change = { currentPassword: password, newPassword };
    expect((await ann.visitor.post('/auth/change-password', change)).status).toBe(200);
    const present = { email: ann.email, password: newPassword };
    await guessFromEverywhere(strict, ann);
    expect(await signInAs(old, present)).toBe(429);
    // The device that changed the password knew the old and the new one.
    expect(await signInAs(withDeviceOf(strict, ann.visitor), present)).toBe(200);
  });

  it('may be shared by several people, and recognizes each of them', async () => {
    const [ann, ben] = [await verified(world), await verified(world)];
    const visitor = world.visitor();
    for (const one of [ann, ben]) await signIn(visitor, one);
    await guessFromEverywhere(strict, ann);
    await guessFromEverywhere(strict, ben);
    for (const one of [ann, ben]) expect(await signInAs(withDeviceOf(strict, visitor), one)).toBe(200);
  });

  it('includes one whose session began before device cookies existed, from its next renewal', async () => {
    const ann = await verified(world);
    ann.visitor.cookies.delete(deviceCookie);
    await world.pool.query("update auth_session set expires_at = now() + interval '28 days'");
    expect((await ann.visitor.get('/auth/get-session')).status).toBe(200);
    await guessFromEverywhere(strict, ann);
    expect(await signInAs(withDeviceOf(strict, ann.visitor), ann)).toBe(200);
  });

  it('does not include a shared computer, where the session ends with the browser', async () => {
    const { email } = await verified(world);
    const visitor = world.visitor();
    const body = { email, password, rememberMe: false };
    expect((await visitor.post('/auth/sign-in/email', body)).status).toBe(200);
    expect([...visitor.cookies.keys()]).not.toContain(deviceCookie);
  });
});

// The strangers' requests come from new networks, for as long as links last. None is refused, because counts of requests begin anew: with
// time, and here with each control. Once the first five links have expired, only requests that mailed nothing are left.
it('strangers who go on asking for password links keep no owner from getting one', async () => {
  const mailbox = await openMailbox();
  const world = await openWorld({
    limit: 600,
    mailer: smtpMail({ url: mailbox.url, from: 'Sotto <no-reply@sotto.example>' }),
  });
  try {
    const person = await world.verified();
    const { email } = person;
    const owner = await signIn(world.visitor(), person);
    const ask = (visitor: Visitor, address: string) =>
      visitor.post('/auth/request-password-reset', { email }, from(address));
    const askAsStrangers = async (door: Door) => {
      for (let stranger = 0; stranger < 5; stranger += 1)
        expect((await ask(door.visitor(), `10.26.${stranger}.1`)).status).toBe(200);
    };
    const links = () =>
      mailbox.received.filter(({ to, subject }) => to === email && subject.startsWith('Set a new password'));
    await askAsStrangers(world);
    expect((await ask(world.visitor(), '10.27.0.1')).status).toBe(429);
    await until(() => links().length === 5, 'five links');
    const [{ last }] = (await world.pool.query('select max(expires_at) as last from auth_verification')).rows;
    for (let more = 0; more < 2; more += 1) await askAsStrangers(await world.another());
    expect((await ask(owner, '10.27.0.1')).status).toBe(200);
    await until(() => links().length === 6, 'a link for the known device');

    await world.pool.query("update auth_verification set expires_at = now() - interval '1 s' where expires_at <= $1", [
      last,
    ]);
    expect((await ask((await world.another()).visitor(), '10.27.1.1')).status).toBe(200);
    await until(() => links().length === 7, 'a link for a new device');
  } finally {
    await world.stop();
    await mailbox.stop();
  }
});

const redis: TestRedis | undefined = await startTestRedis();
if (redis === undefined) noteSkip('one address over an hour', redisSkipReason);

it.skipIf(redis === undefined)('one address does not use up an account, however long it guesses', async () => {
  const limitsRedis = new Redis(redis?.url ?? '');
  const world = await openWorld({ limitsRedis, limit: 600 });
  try {
    const person = await world.verified();
    const guess = { email: person.email, password: 'not it at all' };
    /** Lets a minute pass. Hourly counts stay. */
    const nextMinute = async (): Promise<void> => {
      for (const key of await limitsRedis.keys('*')) {
        if ((await limitsRedis.pttl(key)) <= 60_000) await limitsRedis.del(key);
      }
    };
    let answered = 0;
    for (let minute = 0; minute < 12; minute += 1) {
      for (let tries = 0; tries < 11; tries += 1) {
        if ((await world.visitor().post('/auth/sign-in/email', guess, from('10.28.0.1'))).status !== 429) answered += 1;
      }
      await nextMinute();
    }
    expect(answered).toBe(20);
    // A device that the account has never seen, on another network.
    expect((await world.visitor().post('/auth/sign-in/email', person, from('10.29.0.1'))).status).toBe(200);
  } finally {
    await world.stop();
    limitsRedis.disconnect();
    await redis?.stop();
  }
});
