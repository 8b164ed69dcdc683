import { randomUUID } from 'node:crypto';
import { creditAccount } from '@sotto/control';
import { type AppAnswer, appAnswerSchema, balanceAnswerSchema, type CreateApp } from '@sotto/wire';
import { expect } from 'vitest';
import { type Service, until } from '../../kit/service.ts';
import { Browser } from './browser.ts';

/** Somebody who is signed in, in a browser of their own. */
export interface Person {
  readonly email: string;
  readonly password: string;
  readonly accountId: string;
  readonly browser: Browser;
}

type Used = Pick<Service, 'controlUrl' | 'pool'>;

/** Signs somebody up and in; `usd` is on their balance when this resolves. */
export async function newPerson(service: Used, usd = 0): Promise<Person> {
  const [email, password] = [`${randomUUID()}@people.example`, `pw-${randomUUID()}`];
  const browser = new Browser();
  const auth = `${service.controlUrl}/auth`;
  const made = await browser.ask('POST', `${auth}/sign-up/email`, { body: { name: 'x', email, password } });
  expect(made.status).toBe(200);
  await signIn(service, { email, password, browser });
  const { rows } = await service.pool.query<{ id: string }>(
    'select a.id from accounts a join auth_user u on u.id = a.user_id where u.email = $1',
    [email],
  );
  const person = { email, password, browser, accountId: rows[0]?.id ?? '' };
  if (usd > 0) await fund(service, person, usd);
  return person;
}

export async function signIn(service: Pick<Used, 'controlUrl'>, who: Omit<Person, 'accountId'>): Promise<void> {
  const { email, password, browser } = who;
  const answer = await browser.ask('POST', `${service.controlUrl}/auth/sign-in/email`, { body: { email, password } });
  expect(answer.status).toBe(200);
}

async function fund(service: Used, { accountId, browser }: Person, usd: number): Promise<void> {
  const amountNusd = BigInt(usd) * 1_000_000_000n;
  await creditAccount(service.pool, { accountId, amountNusd, kind: 'top_up', reference: `test:${accountId}` });
  await until(async () => {
    const answer = await browser.ask('GET', `${service.controlUrl}/balance`);
    return balanceAnswerSchema.parse(await answer.json()).available === usd;
  }, 'the money is there');
}

export const redirectUri = 'https://app.example/callback';

/** Registers an app that may ask for everything. */
export async function newApp(service: Used, owner: Person, more: Partial<CreateApp> = {}): Promise<AppAnswer> {
  const body: CreateApp = {
    name: 'Notebook',
    homepage: 'https://app.example',
    type: 'confidential',
    redirect_uris: [redirectUri],
    post_logout_redirect_uris: ['https://app.example/bye'],
    scopes: ['openid', 'email', 'inference', 'usage:read'],
    ...more,
  };
  const answer = await owner.browser.ask('POST', `${service.controlUrl}/connect/apps`, { body });
  expect(answer.status).toBe(201);
  return appAnswerSchema.parse(await answer.json());
}
