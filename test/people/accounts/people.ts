import { expect } from 'vitest';
import { Authenticator, type Presence, showEarlierCode, totpCode } from '../../kit/authenticator.ts';
import { password } from '../../kit/signed-up.ts';
import { type AccountsWorld, type Answer, type Person, sessionStatus, signIn, type Visitor } from './world.ts';

export interface SignedInPerson extends Person {
  readonly visitor: Visitor;
}

/** A person who is signed in and has a verified address. */
export async function verified(world: AccountsWorld): Promise<SignedInPerson> {
  const person = await world.verified();
  return { ...person, visitor: await signIn(world.visitor(), person) };
}

export interface Enrolled extends SignedInPerson {
  readonly uri: string;
  readonly backupCodes: readonly string[];
}

/**
 * A person with an authenticator app. Codes of one person are half a minute apart, so each test needs its own people.
 */
export async function enrolled(world: AccountsWorld): Promise<Enrolled> {
  const person = await verified(world);
  const { json } = await person.visitor.post('/auth/two-factor/enable', { password });
  const show = async (code: string) => (await person.visitor.post('/auth/two-factor/verify-totp', { code })).status;
  expect(await showEarlierCode(json.totpURI, show)).toBe(200);
  return { ...person, uri: json.totpURI, backupCodes: json.backupCodes };
}

export async function grantOperator(world: AccountsWorld, { email }: Person): Promise<void> {
  expect(await world.cli(['operator', 'grant', email])).toEqual({ code: 0, lines: [`${email} is an operator`] });
}

/** A signed-in operator who has just shown a code. */
export async function newOperator(world: AccountsWorld): Promise<Enrolled> {
  const person = await enrolled(world);
  await grantOperator(world, person);
  const shown = await person.visitor.post('/auth/two-factor/verify-totp', { code: totpCode(person.uri, Date.now()) });
  expect(shown.status, shown.text).toBe(200);
  return person;
}

/** A visitor who has passed the password step but not shown the code. */
export async function halfSignedIn(world: AccountsWorld, { email }: Person): Promise<Visitor> {
  const visitor = world.visitor();
  const answer = await visitor.post('/auth/sign-in/email', { email, password });
  expect([answer.status, answer.json]).toEqual([200, { twoFactorRedirect: true, twoFactorMethods: ['totp'] }]);
  expect(await sessionStatus(visitor)).toBe(401);
  return visitor;
}

/** Browsers do not accept an IP address as an id of the relying party. For 127.0.0.1 the id is `localhost`. */
const presenceAt = ({ origin }: AccountsWorld): Presence => ({ origin, rpId: 'localhost' });

/** Confirms the password. Resolves to the confirmation. */
export async function confirm(visitor: Visitor): Promise<string> {
  const answer = await visitor.post('/auth/confirm-password', { password });
  expect(answer.status, answer.text).toBe(200);
  return answer.json.confirmation;
}

/** The body with which a page adds a passkey, without the confirmation. */
export async function registration(
  world: AccountsWorld,
  visitor: Visitor,
  key: Authenticator,
  how: Partial<Presence> = {},
): Promise<object> {
  const options = await visitor.get('/auth/passkey/generate-register-options');
  expect(options.status, options.text).toBe(200);
  return { response: key.register(options.json.challenge, { ...presenceAt(world), ...how }), name: 'Laptop' };
}

/** Adds a passkey after confirming the password. */
export async function register(
  world: AccountsWorld,
  visitor: Visitor,
  key: Authenticator,
  how: Partial<Presence> = {},
): Promise<Answer> {
  const confirmation = await confirm(visitor);
  const body = await registration(world, visitor, key, how);
  return visitor.post('/auth/passkey/verify-registration', { ...body, confirmation });
}

export interface PasskeyOwner extends SignedInPerson {
  readonly key: Authenticator;
}

/** A person who is signed in and has a passkey. */
export async function owner(world: AccountsWorld): Promise<PasskeyOwner> {
  const [person, key] = [await verified(world), new Authenticator()];
  const made = await register(world, person.visitor, key);
  expect(made.status, made.text).toBe(200);
  return { ...person, key };
}

/** Signs in with a passkey. */
export async function show(
  world: AccountsWorld,
  key: Authenticator,
  how: Partial<Presence> = {},
  visitor = world.visitor(),
) {
  const options = await visitor.get('/auth/passkey/generate-authenticate-options');
  const response = key.assert(options.json.challenge, { ...presenceAt(world), ...how });
  return { visitor, response, answer: await visitor.post('/auth/passkey/verify-authentication', { response }) };
}
