import { expect } from 'vitest';
import { totpCode } from './totp.ts';
import { type AccountsWorld, type Person, password, sessionStatus, signIn, type Visitor } from './world.ts';

export interface SignedInPerson extends Person {
  readonly visitor: Visitor;
}

/** Signed in, with a verified address. */
export async function verified(world: AccountsWorld): Promise<SignedInPerson> {
  const person = await world.verified();
  return { ...person, visitor: await signIn(world.visitor(), person) };
}

export interface Enrolled extends SignedInPerson {
  readonly uri: string;
  readonly backupCodes: readonly string[];
}

/** With an authenticator app. Codes of one person are half a minute apart: each test has people of its own. */
export async function enrolled(world: AccountsWorld): Promise<Enrolled> {
  const person = await verified(world);
  const { json } = await person.visitor.post('/auth/two-factor/enable', { password });
  const code = totpCode(json.totpURI, Date.now() - 30_000);
  const first = await person.visitor.post('/auth/two-factor/verify-totp', { code });
  expect(first.status, first.text).toBe(200);
  return { ...person, uri: json.totpURI, backupCodes: json.backupCodes };
}

/** Past the password, with the code still to show. */
export async function halfSignedIn(world: AccountsWorld, { email }: Person): Promise<Visitor> {
  const visitor = world.visitor();
  const answer = await visitor.post('/auth/sign-in/email', { email, password });
  expect([answer.status, answer.json]).toEqual([200, { twoFactorRedirect: true, twoFactorMethods: ['totp'] }]);
  expect(await sessionStatus(visitor)).toBe(401);
  return visitor;
}
