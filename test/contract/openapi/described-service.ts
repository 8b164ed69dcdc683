import { randomBytes } from 'node:crypto';
import { openTestPool, startTestPostgres, type TestPostgres } from '@sotto/test-servers';
import type pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { useFolder } from '../../kit/folder.ts';
import { freePorts, npmStart, type StartedByNpm } from '../../kit/npm-start.ts';
import { until } from '../../kit/service.ts';
import { makeIssuer, type TestIssuer } from '../../kit/wallets.ts';
import { type Call, DescribedOrigin } from './description.ts';

/** As the body of a call: the example that the description has for it. */
export const example = Symbol('the example of the description');

/** The token of the identity provider, which does not run. */
export const scimToken = 'the-token-of-the-identity-provider';

const identityProvider = {
  ...{ OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'sotto', OIDC_CLIENT_SECRET: 'x', OIDC_NAME: 'Example Inc' },
  SCIM_TOKEN: scimToken,
};

export const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
export const freshEmail = (): string => `${hex(8)}@people.example`;
export const cookieOf = ({ headers }: Answer) => ({
  cookie: headers
    .getSetCookie()
    .map((each) => each.split(';')[0] ?? '')
    .join('; '),
});

function exampleAt(origin: DescribedOrigin, operationId: string): Record<string, unknown> {
  const media = origin.operation(operationId).requestBody?.content['application/json'];
  if (media?.example === undefined) throw new Error(`${operationId} has no example`);
  origin.expectOf(media.schema, media.example, operationId);
  return media.example as Record<string, unknown>;
}

/** Returns a function that calls an operation by its id, so that each call is a described one. */
export function callerOf(origin: () => DescribedOrigin) {
  return async (operationId: string, status: number, asked: Call = {}): Promise<Answer> => {
    const body = asked.body === example ? exampleAt(origin(), operationId) : asked.body;
    const answer = await origin().call(operationId, { ...asked, body });
    expect(answer.status, `${operationId}: ${answer.text.slice(0, 500)}`).toBe(status);
    return answer;
  };
}

export type DescribedService = ReturnType<typeof describedService>;

/** Starts `npm start` for the surrounding suite, and calls it by its own description. */
export function describedService() {
  const folder = useFolder('openapi');
  let started: StartedByNpm | undefined;
  let postgres: TestPostgres | undefined;
  let pool: pg.Pool | undefined;
  let issuer: TestIssuer | undefined;
  const origins = {} as { control: DescribedOrigin; broker: DescribedOrigin };
  let cookie: { cookie: string };
  const quickstart = () => {
    if (started === undefined) throw new Error('not started');
    return started.quickstart;
  };
  const toControl = callerOf(() => origins.control);
  const owner = () => cookie;
  const signIn = async ({ email, password }: { readonly email: string; readonly password: string }) =>
    cookieOf(await toControl('signIn', 200, { body: { email, password } }));
  const exampleOf = (origin: 'control' | 'broker', operationId: string) => exampleAt(origins[origin], operationId);
  beforeAll(async () => {
    postgres = await startTestPostgres();
    const DATABASE_URL = await postgres.createDatabase();
    pool = openTestPool(DATABASE_URL);
    issuer = await makeIssuer();
    const features = { ATTESTATION: 'simulated', CONNECTED_APPS: 'on', ...identityProvider, ...issuer.environment };
    started = await npmStart(folder, { ...(await freePorts()), DATABASE_URL, ...features });
    origins.control = await DescribedOrigin.load(new URL(quickstart().control_url).origin);
    origins.broker = await DescribedOrigin.load(new URL(quickstart().base_url).origin);
    cookie = await signIn(quickstart());
  });
  afterAll(async () => {
    await issuer?.stop();
    await started?.end('SIGTERM');
    await pool?.end();
    await postgres?.stop();
  });
  return {
    get control() {
      return origins.control;
    },
    get broker() {
      return origins.broker;
    },
    /** The service's database. */
    get pool(): pg.Pool {
      if (pool === undefined) throw new Error('not started');
      return pool;
    },
    get issuer(): TestIssuer {
      if (issuer === undefined) throw new Error('not started');
      return issuer;
    },
    quickstart,
    toControl,
    toBroker: callerOf(() => origins.broker),
    /** The headers of the owner's session. */
    owner,
    asOwner: (operationId: string, status: number, asked: Call = {}) =>
      toControl(operationId, status, { headers: owner(), ...asked }),
    exampleOf,
    signIn,
    async signUp() {
      const person = { ...exampleOf('control', 'signUp'), email: freshEmail(), password: 'correct horse battery' };
      await toControl('signUp', 200, { body: person });
      return person;
    },
    /** Returns the token of the newest mail to an address, as `npm start` prints it. */
    async printedToken(email: string, path: string): Promise<string> {
      const token = (): string | undefined => {
        const mails = started?.output().split('mail to ') ?? [];
        const mail = mails.findLast((each) => each.startsWith(email) && each.includes(path));
        return mail?.match(/#token=(\S+)/)?.[1];
      };
      await until(() => token() !== undefined, 'the mail is printed');
      return token() ?? '';
    },
  };
}
