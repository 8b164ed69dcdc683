import { randomUUID } from 'node:crypto';
import { creditAccount } from '@sotto/control';
import {
  balanceAnswerSchema,
  keyAnswerSchema,
  type WorkspaceRole,
  workspaceAnswerSchema,
  workspaceInvitationAnswerSchema,
} from '@sotto/wire';
import { expect } from 'vitest';
import { until } from '../../kit/service.ts';
import { type Answer, get, type HeaderMap, post } from './client.ts';
import type { Suite } from './suite.ts';

/** Somebody who is signed in. */
export interface Person {
  readonly email: string;
  readonly password: string;
  readonly accountId: string;
  readonly session: HeaderMap;
}

/** What people of a suite do through the front door, and expect to have done. */
export function peopleOf(suite: Suite) {
  const url = (path: string): string => `${suite.service.controlUrl}${path}`;

  const signIn = async ({ email, password }: Pick<Person, 'email' | 'password'>): Promise<HeaderMap> => {
    const { headers, status } = await post(url('/auth/sign-in/email'), { email, password });
    expect(status).toBe(200);
    const cookie = headers.getSetCookie().map((line) => line.split(';')[0] ?? '');
    return { cookie: cookie.join('; ') };
  };
  const signUp = async (): Promise<Person> => {
    const [email, password] = [`${randomUUID()}@people.example`, `pw-${randomUUID()}`];
    expect((await post(url('/auth/sign-up/email'), { name: 'x', email, password })).status).toBe(200);
    const { rows } = await suite.service.pool.query<{ id: string }>(
      'select a.id from accounts a join auth_user u on u.id = a.user_id where u.email = $1',
      [email],
    );
    return { email, password, accountId: rows[0]?.id ?? '', session: await signIn({ email, password }) };
  };
  /** What a link in a mail would do. */
  const verifyAddress = async ({ email }: Person): Promise<void> => {
    await suite.service.pool.query('update auth_user set email_verified = true where email = $1', [email]);
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
  const fund = async ({ accountId, session }: Person): Promise<void> => {
    const credit = { accountId, amountNusd: 5_000_000_000n, kind: 'top_up', reference: `test:${accountId}` } as const;
    await creditAccount(suite.service.pool, credit);
    const available = async () => balanceAnswerSchema.parse((await get(url('/balance'), session)).json).available;
    await until(async () => (await available()) === 5, 'the money is there');
  };
  return { url, signIn, signUp, verifyAddress, makeWorkspace, invite, accept, join, makeKey, fund };
}
