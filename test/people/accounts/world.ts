import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import {
  buildControl,
  builtInBilling,
  builtInCatalog,
  type ControlOptions,
  migrateDatabase,
  readBillingPlan,
} from '@sotto/control';
import { createMemoryState, MemoryStore } from '@sotto/state';
import type pg from 'pg';
import { pino } from 'pino';
import { freePort } from '../../kit/free-port.ts';
import { openTestPool, startTestPostgres, type TestPostgres } from '../../kit/postgres.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of an answer is what it tests.
  readonly json: any;
}

/** A browser as far as cookies go: it keeps what it is given and sends it along. */
export interface Visitor {
  readonly cookies: Map<string, string>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  send(method: string, path: string, body?: unknown): Promise<Answer>;
}

export interface Person {
  readonly email: string;
  readonly password: string;
}

/** The control plane behind a port, on a database of its own. */
export interface AccountsWorld {
  readonly origin: string;
  readonly pool: pg.Pool;
  /** Everything that was logged so far. */
  logs(): string;
  visitor(): Visitor;
  /** Signs up, and does no more. */
  signUp(email?: string): Promise<Person>;
  /** The same, and their address is as if they had followed the link. */
  verified(email?: string): Promise<Person>;
  /** Starts a further control on the same database. */
  another(options?: WorldOptions): Promise<{ readonly origin: string; visitor(): Visitor }>;
  stop(): Promise<void>;
}

export type WorldOptions = Partial<Pick<ControlOptions, 'mailer' | 'openid' | 'limitsRedis' | 'now'>> & {
  /** In place of a secret made for the world. */
  readonly sessionSecrets?: readonly [string, string?];
  /** RATE_LIMIT_CONTROL. */
  readonly limit?: number;
  /** The host of the public origin, where it is not the address of the port. */
  readonly host?: string;
  /** The public origin, where several controls share one. */
  readonly origin?: string;
};

export const password = 'correct horse battery';

export async function openWorld(options: WorldOptions = {}): Promise<AccountsWorld> {
  const postgres: TestPostgres = await startTestPostgres();
  const databaseUrl = await postgres.createDatabase();
  await migrateDatabase(databaseUrl);
  const pool = openTestPool(databaseUrl);
  const lines: string[] = [];
  const secret = () => randomBytes(32);
  const secrets = {
    ticketSealingKey: secret(),
    accountRefKey: secret(),
    settlementMacKey: secret(),
    sessionSecret: secret().toString('base64'),
  };
  const store = new MemoryStore(Date.now);
  const plan = await readBillingPlan(builtInBilling);
  if (!plan.ok) throw new Error(plan.message);
  const stops: (() => Promise<void>)[] = [];

  const start = async ({ limit = 1_000_000, host = '127.0.0.1', sessionSecrets, ...rest }: WorldOptions) => {
    const port = await freePort();
    const { origin = `http://${host}:${port}` } = rest;
    const control = await buildControl({
      state: createMemoryState({ store }),
      isAlone: stops.length === 0,
      logger: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
      databaseUrl,
      confidentialOrigin: 'http://127.0.0.1:1',
      trustedOrigins: [],
      catalogFile: builtInCatalog,
      secrets:
        sessionSecrets === undefined
          ? secrets
          : { ...secrets, sessionSecret: sessionSecrets[0], other: { sessionSecret: sessionSecrets[1] } },
      media: { image: false, speech: false },
      ticketTtlMs: 1000,
      limits: { requests: 1000, tokens: 1000, control: limit },
      limitsRedis: undefined,
      trustProxy: '127.0.0.1',
      billing: { plan: plan.settings, rails: { test: true, stripe: undefined, btcpay: undefined } },
      ...rest,
      origin,
    });
    await control.start();
    await control.app.listen({ host: '127.0.0.1', port });
    stops.push(() => control.stop({ announceMs: 0, graceMs: 1000 }));
    return {
      origin,
      visitor: () => newVisitor(`http://127.0.0.1:${(control.app.server.address() as AddressInfo).port}`),
    };
  };
  const first = await start(options);
  const signUp = async (email = `${randomUUID()}@people.example`): Promise<Person> => {
    const made = await first.visitor().post('/auth/sign-up/email', { name: 'Ann', email, password });
    if (made.status !== 200) throw new Error(`no sign-up: ${made.status} ${made.text}`);
    return { email, password };
  };
  return {
    ...first,
    pool,
    logs: () => lines.join(''),
    another: (further = {}) => start({ ...options, ...further }),
    signUp,
    async verified(email) {
      const person = await signUp(email);
      await pool.query('update auth_user set email_verified = true where email = $1', [person.email]);
      return person;
    },
    async stop() {
      for (const stop of stops) await stop();
      await pool.end();
      await postgres.stop();
    },
  };
}

function newVisitor(origin: string): Visitor {
  const cookies = new Map<string, string>();
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${origin}/v1${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(cookie === '' ? {} : { cookie }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ');
      const at = pair.indexOf('=');
      if (attributes.some((each) => /^max-age=0$/i.test(each))) cookies.delete(pair.slice(0, at));
      else cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  };
  return {
    cookies,
    send,
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body = {}, headers) => send('POST', path, body, headers),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Signs in with a password, and expects to be. */
export async function signIn(visitor: Visitor, { email, password }: Person): Promise<Visitor> {
  const answer = await visitor.post('/auth/sign-in/email', { email, password });
  if (answer.status !== 200) throw new Error(`not signed in: ${answer.status} ${answer.text}`);
  return visitor;
}

/** Whether a visitor has a session: 200, or 401. */
export const sessionStatus = async (visitor: Visitor): Promise<number> => (await visitor.get('/keys')).status;
