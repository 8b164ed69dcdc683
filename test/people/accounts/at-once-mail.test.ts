import { randomUUID } from 'node:crypto';
import { smtpMail } from '@sotto/control';
import { whileHeld } from '@sotto/test-servers';
import { afterAll, describe, expect, it } from 'vitest';
import { openMailbox } from '../../kit/mailbox.ts';
import { password } from '../../kit/signed-up.ts';
import { type SignedInPerson, verified } from './people.ts';
import { signIn, useWorld, type Visitor } from './world.ts';

const mailbox = await openMailbox();
afterAll(() => mailbox.stop());
const world = await useWorld({ mailer: smtpMail({ url: mailbox.url, from: 'Sotto <no-reply@sotto.example>' }) });
/** A second process of the same deployment. A lock in memory would not stop it. */
const other = await world.another({ origin: world.origin });

const count = 8;
const fresh = () => `${randomUUID()}@people.example`;
/** Visitors without a session, half of them at the other process. */
const strangers = (): Visitor[] =>
  Array.from({ length: count }, (_, index) => (index % 2 === 0 ? world : other).visitor());
const tokens = { rows: 'select 1 from auth_verification for update', waiting: 'delete from "auth_verification"' };

describe('an emailed link that several visitors follow at the same time', () => {
  it('verifies an address once, and begins one session', async () => {
    const { email } = await world.signUp();
    const token = await mailbox.token(email, 'Confirm your address');
    const answers = await whileHeld(
      world.pool,
      tokens,
      strangers().map((visitor) => () => visitor.post('/auth/verify-email', { token, password })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(count - 1).fill(400)]);
    const { rows } = await world.pool.query(
      'select 1 from auth_session s join auth_user u on u.id = s.user_id where u.email = $1',
      [email],
    );
    expect(rows).toHaveLength(1);
  });

  it('sets one password', async () => {
    const { email } = await verified(world);
    await world.visitor().post('/auth/request-password-reset', { email });
    const token = await mailbox.token(email, 'Set a new password');
    const passwords = strangers().map((_, index) => `a new password ${index}`);
    const answers = await whileHeld(
      world.pool,
      // One request for each process, because further ones would wait in its memory.
      { ...tokens, count: 2 },
      strangers().map(
        (visitor, index) => () => visitor.post('/auth/reset-password', { token, newPassword: passwords[index] }),
      ),
    );
    const right = [];
    for (const password of passwords) {
      right.push((await world.visitor().post('/auth/sign-in/email', { email, password })).status);
    }
    expect(right).toEqual(answers.map(({ status }) => (status === 200 ? 200 : 401)));
    expect(right.filter((status) => status === 200)).toHaveLength(1);
  });

  it('changes an address once, and two accounts do not get the same one', async () => {
    const [ann, ben] = [await verified(world), await verified(world)];
    const newEmail = fresh();
    const ask = async ({ visitor }: SignedInPerson) => {
      expect((await visitor.post('/auth/change-email', { newEmail, password })).status).toBe(200);
    };
    await ask(ann);
    const first = await mailbox.token(newEmail, 'Confirm your new address');
    await ask(ben);
    let second = first;
    await expect
      .poll(async () => {
        second = await mailbox.token(newEmail, 'Confirm your new address');
        return second;
      })
      .not.toBe(first);
    const follow =
      ({ visitor }: SignedInPerson, token: string) =>
      () =>
        visitor.post('/auth/verify-email', { token });
    const links = [
      ...Array<() => ReturnType<Visitor['post']>>(4).fill(follow(ann, first)),
      ...Array<() => ReturnType<Visitor['post']>>(4).fill(follow(ben, second)),
    ];
    const answers = await whileHeld(world.pool, tokens, links);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const { rows } = await world.pool.query('select 1 from auth_user where email = $1', [newEmail]);
    expect(rows).toHaveLength(1);
  });
});

it('an invitation that is accepted several times at the same time counts once', async () => {
  const [owner, guest] = [await verified(world), await verified(world)];
  const { id } = (await owner.visitor.get('/workspaces')).json.data[0];
  const invited = await owner.visitor.post(`/workspaces/${id}/invitations`, { email: guest.email, role: 'member' });
  expect(invited.status).toBe(201);
  const { token } = invited.json;
  const guests = await Promise.all(strangers().map((visitor) => signIn(visitor, guest)));
  const answers = await whileHeld(
    world.pool,
    {
      rows: 'select 1 from workspaces where id = $1 for update',
      values: [id],
      waiting: 'select 1 from workspaces where id = $1 for update',
    },
    guests.map((visitor) => () => visitor.post('/invitations/accept', { token })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(count - 1).fill(404)]);
  const members = (await owner.visitor.get(`/workspaces/${id}/members`)).json.data;
  expect(members.map(({ email }: { email: string }) => email).sort()).toEqual([guest.email, owner.email].sort());
});
