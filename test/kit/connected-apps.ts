import {
  type AppAnswer,
  appAnswerSchema,
  type CreateApp,
  grantListAnswerSchema,
  type InteractionAnswer,
  interactionAnswerSchema,
} from '@sotto/contract/control/connect';
import * as oauth from 'openid-client';
import { expect } from 'vitest';
import { Browser } from './browser.ts';
import { bearer } from './client.ts';
import { get } from './send.ts';
import type { Service } from './service.ts';
import { type SignedUp, signedUp } from './signed-up.ts';

/** A signed-in user with their own browser. */
export interface Person extends SignedUp {
  readonly browser: Browser;
}

type Used = Pick<Service, 'controlUrl' | 'pool' | 'credit'>;

/** Signs a user up and in. Their balance has `usd` when this resolves. */
export async function newPerson(service: Used, usd = 0): Promise<Person> {
  const person = { ...(await signedUp(service.pool)), browser: new Browser() };
  await signIn(service, person);
  if (usd > 0) await service.credit(person.accountId, usd);
  return person;
}

export async function signIn(service: Pick<Used, 'controlUrl'>, who: Omit<Person, 'accountId'>): Promise<void> {
  const { email, password, browser } = who;
  const answer = await browser.ask('POST', `${service.controlUrl}/auth/sign-in/email`, { body: { email, password } });
  expect(answer.status).toBe(200);
}

export const redirectUri = 'https://app.example/callback';

/** Registers an app that may request every scope. */
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

/** Returns an app as its developer runs it: `openid-client`, configured from the registration. */
export async function clientOf(
  service: Pick<Service, 'controlUrl'>,
  app: AppAnswer,
  secret = app.client_secret,
): Promise<oauth.Configuration> {
  const authentication = secret === undefined ? oauth.None() : oauth.ClientSecretBasic(secret);
  return oauth.discovery(new URL(`${service.controlUrl}/connect`), app.client_id, undefined, authentication, {
    execute: [oauth.allowInsecureRequests],
  });
}

/** A started authorization request: the values that the app keeps until the browser returns. */
export interface Started {
  readonly url: string;
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string | undefined;
}

export const allScopes = 'openid email inference usage:read';

/** Starts an authorization request as an app does. */
export async function start(
  client: oauth.Configuration,
  parameters: Readonly<Record<string, string>> = {},
): Promise<Started> {
  const [verifier, state, nonce] = [oauth.randomPKCECodeVerifier(), oauth.randomState(), oauth.randomNonce()];
  // Without the scope `openid` there is no ID token to carry a nonce.
  const isOpenid = (parameters.scope ?? allScopes).split(' ').includes('openid');
  const url = oauth.buildAuthorizationUrl(client, {
    redirect_uri: redirectUri,
    scope: allScopes,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    ...(isOpenid ? { nonce } : {}),
    ...parameters,
  });
  return { url: url.href, verifier, state, nonce: isOpenid ? nonce : undefined };
}

/** Plays the consent page: the address that the browser was sent to, and the page's calls. */
export class Consent {
  readonly uid: string;
  readonly #address: string;

  constructor(service: Pick<Service, 'controlUrl'>, page: string) {
    const url = new URL(page);
    expect(url.pathname).toBe('/connect/consent');
    this.uid = url.searchParams.get('uid') ?? '';
    this.#address = `${service.controlUrl}/connect/interactions/${this.uid}`;
  }

  readRaw = (person: Person): Promise<Response> => person.browser.ask('GET', this.#address);
  answerRaw = (person: Person, body: unknown): Promise<Response> => person.browser.ask('POST', this.#address, { body });

  async read(person: Person): Promise<InteractionAnswer> {
    const answer = await this.readRaw(person);
    expect(answer.status).toBe(200);
    return interactionAnswerSchema.parse(await answer.json());
  }

  /** Sends the decision, and follows the browser back to the app. */
  async answer(person: Person, body: object): Promise<string> {
    const answer = await this.answerRaw(person, body);
    const json = (await answer.json()) as { redirect_to: string };
    expect(answer.status, JSON.stringify(json)).toBe(200);
    return person.browser.follow(json.redirect_to);
  }
}

export async function consentTo(
  service: Pick<Service, 'controlUrl'>,
  person: Person,
  started: Started,
): Promise<Consent> {
  return new Consent(service, await person.browser.follow(started.url));
}

export const allowed = (more: object = {}): object => ({ decision: 'allow', credit_limit_usd: 5, ...more });

/** Runs the flow from the app's request up to the callback. Returns the address of the callback. */
export async function authorize(
  service: Pick<Service, 'controlUrl'>,
  person: Person,
  { started, decision = allowed() }: { readonly started: Started; readonly decision?: object },
): Promise<string> {
  return (await consentTo(service, person, started)).answer(person, decision);
}

/** Exchanges the code of a callback. */
export const exchange = (client: oauth.Configuration, started: Started, callback: string) =>
  oauth.authorizationCodeGrant(client, new URL(callback), {
    pkceCodeVerifier: started.verifier,
    expectedState: started.state,
    ...(started.nonce === undefined ? {} : { expectedNonce: started.nonce }),
  });

/** Runs the whole flow. Returns an app that has tokens for a user. */
export async function connect(
  service: Pick<Service, 'controlUrl'>,
  person: Person,
  app: AppAnswer,
  { scope = allScopes, decision = allowed() }: { readonly scope?: string; readonly decision?: object } = {},
) {
  const client = await clientOf(service, app);
  const started = await start(client, { scope });
  const callback = await authorize(service, person, { started, decision });
  const tokens = await exchange(client, started, callback);
  return { client, tokens, accessToken: tokens.access_token, refreshToken: tokens.refresh_token ?? '' };
}

/** Returns the status that an access token gets at the control origin. */
export const tokenStatus = async ({ controlUrl }: Pick<Service, 'controlUrl'>, token: string): Promise<number> =>
  (await get(`${controlUrl}/models`, bearer(token))).status;

/** Returns the grants that a user sees. */
export async function grantsOf({ controlUrl }: Pick<Service, 'controlUrl'>, { browser }: Person, query = '') {
  const answer = await browser.ask('GET', `${controlUrl}/connect/grants${query}`);
  return grantListAnswerSchema.parse(await answer.json()).data;
}

/** Returns the OAuth error with which a call fails. */
export async function oauthError(call: Promise<unknown>): Promise<string> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure instanceof oauth.ResponseBodyError || failure instanceof oauth.AuthorizationResponseError) {
    return failure.error;
  }
  if (failure instanceof oauth.WWWAuthenticateChallengeError) {
    return failure.cause[0]?.parameters.error ?? 'none';
  }
  throw failure ?? new Error('it was not refused');
}
