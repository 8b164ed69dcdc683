import { expect } from 'vitest';
import { Authenticator, type Presence } from './authenticator.ts';
import { type SignedInPerson, verified } from './people.ts';
import { type AccountsWorld, type Answer, password, type Visitor } from './world.ts';

/** An address is not an id for a browser: for 127.0.0.1 it is `localhost`. */
const presenceAt = ({ origin }: AccountsWorld): Presence => ({ origin, rpId: 'localhost' });

/** Confirms the password; resolves to the confirmation. */
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

/** Adds a passkey, with the password confirmed before. */
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

/** Signed in, with a passkey. */
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
