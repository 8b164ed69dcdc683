import { whileHeld } from '@sotto/test-servers';
import { describe, expect, it } from 'vitest';
import { Authenticator, totpCode } from '../../kit/authenticator.ts';
import { password } from '../../kit/signed-up.ts';
import { confirm, enrolled, halfSignedIn, owner, registration, verified } from './people.ts';
import { sessionStatus, signIn, useWorld, type Visitor } from './world.ts';

const world = await useWorld();
/** A second process of the same deployment. A lock in memory would not stop it. */
const other = await world.another({ origin: world.origin });

const count = 8;
const times = <T>(make: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: count }, make));
/** The same browser, with half of its requests at the other process. */
const copiesOf = (visitor: Visitor): Visitor[] =>
  Array.from({ length: count }, (_, index) => {
    const copy = (index % 2 === 0 ? world : other).visitor();
    for (const [name, value] of visitor.cookies) copy.cookies.set(name, value);
    return copy;
  });
const signedIn = async (visitors: readonly Visitor[]): Promise<number> =>
  (await Promise.all(visitors.map(sessionStatus))).filter((status) => status === 200).length;

describe('backup codes shown at the same time', () => {
  const factors = { rows: 'select 1 from auth_two_factor for update', waiting: 'update "auth_two_factor"' };
  const show = (visitor: Visitor, code: string | undefined) =>
    visitor.post('/auth/two-factor/verify-backup-code', { code });

  it('give one session where all are the same code', async () => {
    const ann = await enrolled(world);
    const [code] = ann.backupCodes;
    const visitors = await times(() => halfSignedIn(world, ann));
    const answers = await whileHeld(
      world.pool,
      factors,
      visitors.map((visitor) => () => show(visitor, code)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await signedIn(visitors)).toBe(1);
    expect((await show(await halfSignedIn(world, ann), code)).status).toBe(401);
  });

  it('are good once each where all are different', async () => {
    const ann = await enrolled(world);
    const codes = ann.backupCodes.slice(0, count);
    const visitors = await times(() => halfSignedIn(world, ann));
    const answers = await whileHeld(
      world.pool,
      factors,
      visitors.map((visitor, index) => () => show(visitor, codes[index])),
    );
    const again = [];
    for (const code of codes) again.push((await show(await halfSignedIn(world, ann), code)).status);
    expect(answers.map(({ status }) => status)).toContain(200);
    // A code that gave a session gives no other. A code that lost the race is still valid.
    expect(again).toEqual(answers.map(({ status }) => (status === 200 ? 401 : 200)));
  });
});

it('a code of an authenticator app that several challenges show at the same time gives one session', async () => {
  const ann = await enrolled(world);
  const visitors = await times(() => halfSignedIn(world, ann));
  const code = totpCode(ann.uri, Date.now());
  const answers = await Promise.all(visitors.map((visitor) => visitor.post('/auth/two-factor/verify-totp', { code })));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(await signedIn(visitors)).toBe(1);
});

it('a challenge that is answered several times at once gives one session', async () => {
  const ann = await enrolled(world);
  const visitors = copiesOf(await halfSignedIn(world, ann));
  const answers = await Promise.all(
    visitors.map((visitor, index) =>
      visitor.post('/auth/two-factor/verify-backup-code', { code: ann.backupCodes[index] }),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
});

describe('a challenge of a passkey', () => {
  const challenges = {
    rows: 'select 1 from auth_verification for update',
    waiting: 'delete from "auth_verification"',
    // One request for each process, because further ones would wait in its memory.
    count: 2,
  };

  it('that is answered several times at once gives one session', async () => {
    const ann = await owner(world);
    const visitor = world.visitor();
    const options = await visitor.get('/auth/passkey/generate-authenticate-options');
    const response = ann.key.assert(options.json.challenge, { origin: world.origin, rpId: 'localhost' });
    const answers = await whileHeld(
      world.pool,
      challenges,
      copiesOf(visitor).map((copy) => () => copy.post('/auth/passkey/verify-authentication', { response })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('that is answered several times at once adds one passkey, and so does a confirmation', async () => {
    const ann = await verified(world);
    const confirmation = await confirm(ann.visitor);
    const body = await registration(world, ann.visitor, new Authenticator());
    const add = (visitor: Visitor, asked: object) =>
      visitor.post('/auth/passkey/verify-registration', { ...asked, confirmation });
    const answers = await whileHeld(
      world.pool,
      { ...challenges, count },
      copiesOf(ann.visitor).map((copy) => () => add(copy, body)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await ann.visitor.get('/auth/passkey/list-user-passkeys')).json).toHaveLength(1);
  });
});

it('an address that signs up several times at once has one account, and every answer is the same', async () => {
  const email = 'many@people.example';
  const signUps = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      (index % 2 === 0 ? world : other)
        .visitor()
        .post('/auth/sign-up/email', { name: 'Ann', email, password: `${password} ${index}` }),
    ),
  );
  expect(signUps.map(({ status }) => status)).toEqual(Array<number>(count).fill(200));
  const shapes = new Set(signUps.map(({ json }) => JSON.stringify([Object.keys(json), Object.keys(json.user)])));
  expect(shapes.size).toBe(1);
  const { rows } = await world.pool.query(
    'select u.id from auth_user u join auth_account c on c.user_id = u.id join accounts a on a.user_id = u.id where email = $1',
    [email],
  );
  expect(rows).toHaveLength(1);
  const passwords = [];
  for (let index = 0; index < count; index += 1) {
    const body = { email, password: `${password} ${index}` };
    passwords.push((await world.visitor().post('/auth/sign-in/email', body)).status);
  }
  expect(passwords.filter((status) => status === 200)).toHaveLength(1);
});

it('a session that is renewed while it is ended stays ended', async () => {
  const ann = await verified(world);
  const elsewhere = await signIn(world.visitor(), ann);
  await world.pool.query("update auth_session set expires_at = now() + interval '28 days'");
  const renewals = copiesOf(ann.visitor);
  await Promise.all([
    ...renewals.map((copy) => copy.get('/auth/get-session')),
    elsewhere.post('/auth/revoke-other-sessions'),
  ]);
  expect(await signedIn([ann.visitor, ...renewals])).toBe(0);
  expect(await sessionStatus(elsewhere)).toBe(200);
});
