/** Accounts need no broker: controls in this process, whose options a test sets, and visitors with cookies. */

import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { type Maxima, type Maximum, maxima } from '@sotto/contract';
import {
  buildControl,
  builtInBilling,
  type ControlConfig,
  type ControlOptions,
  readBillingPlan,
  readConfigWithoutRedis,
  runCli,
} from '@sotto/control';
import { createMemoryState, MemoryStore } from '@sotto/state';
import { freePort, openTestPool, startTestPostgres, type TestPostgres } from '@sotto/test-servers';
import type pg from 'pg';
import { pino } from 'pino';
import { afterAll } from 'vitest';
import { password, signedUp } from '../../kit/signed-up.ts';
import { newVisitor, type Visitor } from '../../kit/visitor.ts';

export type { Answer, Visitor } from '../../kit/visitor.ts';

export interface Person {
  readonly email: string;
  readonly password: string;
}

/** The control plane behind a port, on its own database. */
export interface AccountsWorld {
  readonly origin: string;
  readonly pool: pg.Pool;
  /** The log output so far. */
  logs(): string;
  visitor(): Visitor;
  /** Signs up, and does no more. */
  signUp(email?: string): Promise<Person>;
  /** A person who has signed up and followed the link of the mail. */
  verified(email?: string): Promise<Person>;
  /** Runs a command of `sotto-control` on the database. Returns the exit code, and the printed lines. */
  cli(
    args: readonly string[],
    environment?: Readonly<Record<string, string>>,
  ): Promise<{ code: number; lines: string[] }>;
  /** Starts another control on the same database. */
  another(options?: WorldOptions): Promise<{
    readonly origin: string;
    /** Of its port, which differs from `origin` if several controls share one. */
    readonly address: string;
    visitor(): Visitor;
  }>;
  stop(): Promise<void>;
}

export type WorldOptions = Partial<
  Pick<ControlOptions, 'mailer' | 'limitsRedis' | 'now'> &
    Pick<ControlConfig['signIn'], 'openid' | 'signUp' | 'hasPasswords' | 'groupRoles' | 'scimToken'>
> & {
  readonly billing?: Partial<ControlConfig['billing']>;
  readonly maxima?: Maxima;
  readonly connectedApps?: boolean;
  readonly webhookNetworks?: ControlConfig['WEBHOOK_NETWORKS'];
  /** Replaces the secret that the world creates. */
  readonly sessionSecrets?: readonly [string, string?];
  /** RATE_LIMIT_CONTROL. */
  readonly limit?: number;
  /** The host of the public origin, if it differs from the address of the port. */
  readonly host?: string;
  /** The public origin, if several controls share one. */
  readonly origin?: string;
};

export async function openWorld(options: WorldOptions = {}): Promise<AccountsWorld> {
  const postgres: TestPostgres = await startTestPostgres();
  const databaseUrl = await postgres.createDatabase();
  const pool = openTestPool(databaseUrl);
  const lines: string[] = [];
  const secret = () => randomBytes(32).toString('base64');
  const secrets = {
    TICKET_SEALING_KEY: secret(),
    ACCOUNT_REF_KEY: secret(),
    SETTLEMENT_MAC_KEY: secret(),
    SESSION_SECRET: secret(),
  };
  const store = new MemoryStore(Date.now);
  const plan = await readBillingPlan(builtInBilling);
  if (!plan.ok) throw new Error(plan.message);
  const stops: (() => Promise<void>)[] = [];

  const start = async ({ limit = 1_000_000, host = '127.0.0.1', ...rest }: WorldOptions) => {
    const port = await freePort();
    const { origin = `http://${host}:${port}` } = rest;
    const [session = secrets.SESSION_SECRET, otherSession = ''] = rest.sessionSecrets ?? [];
    const most = Object.entries<Maximum>(rest.maxima === undefined ? {} : maxima);
    const read = readConfigWithoutRedis({
      ...secrets,
      SESSION_SECRET: session,
      OTHER_SESSION_SECRET: otherSession,
      DATABASE_URL: databaseUrl,
      CONTROL_ORIGIN: origin,
      CONFIDENTIAL_ORIGIN: 'http://127.0.0.1:1',
      CONNECTED_APPS: rest.connectedApps ? 'on' : 'off',
      TICKET_TTL_S: '1',
      RATE_LIMIT_REQUESTS: '1000',
      RATE_LIMIT_TOKENS: '1000',
      RATE_LIMIT_CONTROL: `${limit}`,
      TRUST_PROXY: '127.0.0.1',
      BILLING_TEST_RAIL: 'on',
      SIGN_UP: 'open',
      ...Object.fromEntries(most.map(([name, { setting }]) => [setting, `${rest.maxima?.[name as keyof Maxima]}`])),
    });
    if (!read.ok) throw new Error(read.message);
    const { billing, signIn, ...config } = read.settings;
    const control = await buildControl({
      config: {
        ...config,
        WEBHOOK_NETWORKS: rest.webhookNetworks,
        billing: { ...billing, ...rest.billing },
        signIn: {
          ...signIn,
          ...(rest.signUp && { signUp: rest.signUp }),
          ...{ openid: rest.openid, scimToken: rest.scimToken },
          ...{ hasPasswords: rest.hasPasswords ?? true, groupRoles: rest.groupRoles ?? [] },
        },
      },
      state: createMemoryState({ store }),
      isAlone: stops.length === 0,
      logger: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
      trustedOrigins: [],
      plan: plan.settings,
      limitsRedis: rest.limitsRedis,
      mailer: rest.mailer,
      ...(rest.now && { now: rest.now }),
    });
    await control.start();
    await control.app.listen({ host: '127.0.0.1', port });
    stops.push(() => control.stop({ announceMs: 0, graceMs: 1000 }));
    const address = `http://127.0.0.1:${(control.app.server.address() as AddressInfo).port}`;
    return { origin, address, visitor: () => newVisitor(address) };
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
    async cli(args, environment = {}) {
      const printed: string[] = [];
      const print = (line: string): void => void printed.push(line);
      const code = await runCli(args, {
        environment: { DATABASE_URL: databaseUrl, CONTROL_ORIGIN: first.origin, ...environment },
        readInput: async () => '',
        out: print,
        error: print,
      });
      return { code, lines: printed };
    },
    another: (further = {}) => start({ ...options, ...further }),
    signUp,
    async verified(email) {
      return signedUp(pool, { ...(email === undefined ? {} : { email }), name: 'Ann', isVerified: true });
    },
    async stop() {
      for (const stop of stops) await stop();
      await pool.end();
      await postgres.stop();
    },
  };
}

/** Opens a world for the tests of the surrounding suite. It ends after them. */
export async function useWorld(options?: WorldOptions): Promise<AccountsWorld> {
  const world = await openWorld(options);
  afterAll(() => world.stop());
  return world;
}

/** Signs in with a password, and expects success. */
export async function signIn(visitor: Visitor, { email, password }: Person): Promise<Visitor> {
  const answer = await visitor.post('/auth/sign-in/email', { email, password });
  if (answer.status !== 200) throw new Error(`not signed in: ${answer.status} ${answer.text}`);
  return visitor;
}

/** 200 if a visitor has a session, otherwise 401. */
export const sessionStatus = async (visitor: Visitor): Promise<number> => (await visitor.get('/keys')).status;
