import { type AppAnswer, type InteractionAnswer, interactionAnswerSchema } from '@sotto/wire';
import * as oauth from 'openid-client';
import { expect } from 'vitest';
import type { Service } from '../../kit/service.ts';
import { type Person, redirectUri } from './people.ts';

type Used = Pick<Service, 'controlUrl'>;

/** An app as its developer runs it: `openid-client`, with what registration answered. */
export async function clientOf(
  service: Used,
  app: AppAnswer,
  secret = app.client_secret,
): Promise<oauth.Configuration> {
  const authentication = secret === undefined ? oauth.None() : oauth.ClientSecretBasic(secret);
  return oauth.discovery(new URL(`${service.controlUrl}/connect`), app.client_id, undefined, authentication, {
    execute: [oauth.allowInsecureRequests],
  });
}

/** A request on its way: what the app keeps until the browser is back. */
export interface Started {
  readonly url: string;
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string | undefined;
}

export const allScopes = 'openid email inference usage:read';

/** Begins a request as an app does. */
export async function start(
  client: oauth.Configuration,
  parameters: Readonly<Record<string, string>> = {},
): Promise<Started> {
  const [verifier, state, nonce] = [oauth.randomPKCECodeVerifier(), oauth.randomState(), oauth.randomNonce()];
  // Without `openid` there is no ID token to have it.
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

/** The consent page's part: where the browser was sent, and what the page asks and answers. */
export class Consent {
  readonly uid: string;
  readonly #address: string;

  constructor(service: Used, page: string) {
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

  /** Answers, and follows the browser back to the app. */
  async answer(person: Person, body: object): Promise<string> {
    const answer = await this.answerRaw(person, body);
    const json = (await answer.json()) as { redirect_to: string };
    expect(answer.status, JSON.stringify(json)).toBe(200);
    return person.browser.follow(json.redirect_to);
  }
}

export async function consentTo(service: Used, person: Person, started: Started): Promise<Consent> {
  return new Consent(service, await person.browser.follow(started.url));
}

export const allowed = (more: object = {}): object => ({ decision: 'allow', credit_limit_usd: 5, ...more });

/** Everything from the app's request to the address that its callback is called with. */
export async function authorize(
  service: Used,
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

/** The whole way: an app that has tokens for a person. */
export async function connect(
  service: Used,
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

/** The OAuth error that a call is refused with. */
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
