import { randomUUID } from 'node:crypto';
import { keyAnswerSchema } from '@sotto/contract/control/keys';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import { workspaceAnswerSchema, workspaceInvitationAnswerSchema } from '@sotto/contract/control/workspaces';
import { expect } from 'vitest';
import type { Answer } from './answer.ts';
import { openSession } from './open-session.ts';
import { type HeaderMap, post } from './send.ts';
import type { Service } from './service.ts';
import { type SignedUp, signedUp } from './signed-up.ts';

/** A signed-in user. */
export interface Person extends SignedUp {
  readonly session: HeaderMap;
}

/** The actions of users, over HTTP but for `signUp`. Each asserts that it succeeded. */
export function peopleOf(suite: { readonly service: Service }) {
  const url = (path: string): string => `${suite.service.controlUrl}${path}`;

  const signIn = async ({ email, password }: Pick<Person, 'email' | 'password'>): Promise<HeaderMap> => {
    const { headers, status } = await post(url('/auth/sign-in/email'), { email, password });
    expect(status).toBe(200);
    const cookie = headers.getSetCookie().map((line) => line.split(';')[0] ?? '');
    return { cookie: cookie.join('; ') };
  };
  const signUp = async (): Promise<Person> => {
    const made = await signedUp(suite.service.pool);
    return { ...made, session: await openSession(suite.service, made.email) };
  };
  /** Marks the email address as verified, as the link in a verification mail does. */
  const verifyAddress = async ({ email }: Pick<Person, 'email'>): Promise<void> => {
    await suite.service.pool.query('update auth_user set email_verified = true where email = $1', [email]);
  };
  /** Makes a user an operator. The user gets a passkey, which nobody can show, because the role demands a factor. */
  const makeOperator = async (person: Pick<Person, 'email'>): Promise<void> => {
    await verifyAddress(person);
    await suite.service.pool.query(
      `insert into auth_passkey (id, public_key, user_id, credential_id, counter, device_type, backed_up)
       select $2, '', id, $2, 0, 'singleDevice', false from auth_user where email = $1`,
      [person.email, randomUUID()],
    );
    const { code, output } = await suite.service.runControl(['operator', 'grant', person.email]);
    expect(code, output).toBe(0);
  };
  const makeWorkspace = async ({ session }: Person, name = 'Team'): Promise<string> => {
    const answer = await post(url('/workspaces'), { name }, session);
    expect(answer.status, answer.text).toBe(201);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    return workspaceAnswerSchema.parse(answer.json).id;
  };
  const invite = async (who: Person, workspaceId: string, email: string, role: WorkspaceRole) => {
    const answer = await post(url(`/workspaces/${workspaceId}/invitations`), { email, role }, who.session);
    expect(answer.status, answer.text).toBe(201);
    const { token = '', ...invitation } = workspaceInvitationAnswerSchema.parse(answer.json);
    return { ...invitation, token };
  };
  const accept = ({ session }: Person, token: string): Promise<Answer> =>
    post(url('/invitations/accept'), { token }, session);
  const join = async (owner: Person, workspaceId: string, role: WorkspaceRole): Promise<Person> => {
    const person = await signUp();
    const { token } = await invite(owner, workspaceId, person.email, role);
    expect((await accept(person, token)).status).toBe(200);
    return person;
  };
  const makeKey = async ({ session }: Person, workspaceId: string, kind = 'inference') => {
    const answer = await post(url('/keys'), { name: 'x', kind, workspace_id: workspaceId }, session);
    expect(answer.status, answer.text).toBe(201);
    const { key = '', ...made } = keyAnswerSchema.parse(answer.json);
    return { ...made, key };
  };
  const fund = ({ accountId }: Person): Promise<void> => suite.service.credit(accountId, 5);
  return { url, signIn, signUp, verifyAddress, makeOperator, makeWorkspace, invite, accept, join, makeKey, fund };
}
