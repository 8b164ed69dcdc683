import { channel } from 'node:diagnostics_channel';
import { controlOrigin } from '@sotto/contract/control';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { FastifyInstance } from 'fastify';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { buildApp } from './app.ts';
import { buildBilling } from './billing/billing.ts';
import { readBillingPlan } from './billing/billing-settings.ts';
import { builtInBilling } from './billing/built-in-billing.ts';
import { buildConnectedApps } from './connect/connected-apps.ts';
import { buildAuth } from './sessions/auth.ts';
import { authBasePath } from './sessions/auth-path.ts';

/** Registering routes reads nothing of what they work with. */
const untouched = new Proxy({}, {}) as never;
const origin = 'http://127.0.0.1:4000';
const pool = new pg.Pool();
const auth = buildAuth({
  db: drizzle(pool),
  secrets: ['x'.repeat(32)],
  origin,
  trustedOrigins: [],
  onSignUp: async () => {},
  onClaimed: async () => {},
  mailer: undefined,
  onMailFailed: () => {},
  openid: { issuer: 'https://id.example', clientId: 'x', clientSecret: 'x', name: 'Example' },
  now: () => 0,
});

async function registeredRoutes(): Promise<string[]> {
  const plan = await readBillingPlan(builtInBilling);
  if (!plan.ok) throw new Error('the built-in billing is malformed');
  const routes: string[] = [];
  const watch = (message: unknown): void => {
    const { fastify } = message as { readonly fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ method, url }) => {
      // Each GET has a HEAD of its own.
      const named = [method].flat().filter((each) => each !== 'HEAD');
      routes.push(...named.map((each) => `${each} ${url.replace(/:(\w+)/g, '{$1}')}`));
    });
  };
  const initialization = channel('fastify.initialization');
  initialization.subscribe(watch);
  const app = buildApp({
    sessions: { auth, pool, allowedOrigins: [origin], onAccountMade: async () => {} },
    sessionSecrets: ['x'.repeat(32)],
    projector: untouched,
    state: untouched,
    catalog: untouched,
    billing: buildBilling({
      plan: plan.settings,
      rails: { test: true, stripe: undefined, btcpay: undefined },
      pool,
      events: new Proxy({}, { get: () => () => {} }) as never,
      project: async () => {},
      origin,
      now: () => 0,
    }),
    connectedApps: buildConnectedApps({
      pool,
      projector: untouched,
      origin,
      sessionSecrets: ['x'.repeat(32)],
      events: { connectFailed: () => {} },
      now: () => 0,
    }),
    tickets: untouched,
    mailer: undefined,
    limits: { control: 1, minting: 1, redis: undefined },
    origin,
    events: untouched,
    isReady: async () => true,
    trustProxy: false,
    confidentialOrigin: 'http://127.0.0.1:4001',
    dashboardFolder: '/nonexistent',
    now: () => 0,
  });
  const built = await app;
  initialization.unsubscribe(watch);
  await built.ready();
  await built.close();
  return routes;
}

const described = controlOrigin.routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
/** Those of the OAuth protocol, which describes itself by its discovery document. */
const ofProtocol = [
  'GET /v1/connect/.well-known/oauth-authorization-server',
  'GET /v1/connect/.well-known/openid-configuration',
  'GET /v1/connect/authorize',
  'GET /v1/connect/authorize/{uid}',
  'GET /v1/connect/jwks',
  'GET /v1/connect/logout',
  'GET /v1/connect/logout/success',
  'GET /v1/connect/userinfo',
  'OPTIONS /v1/connect/.well-known/oauth-authorization-server',
  'OPTIONS /v1/connect/.well-known/openid-configuration',
  'OPTIONS /v1/connect/introspect',
  'OPTIONS /v1/connect/jwks',
  'OPTIONS /v1/connect/revoke',
  'OPTIONS /v1/connect/token',
  'OPTIONS /v1/connect/userinfo',
  'POST /v1/connect/introspect',
  'POST /v1/connect/logout/confirm',
  'POST /v1/connect/revoke',
  'POST /v1/connect/token',
  'POST /v1/connect/userinfo',
];
const isAuth = (route: string): boolean => route.includes(` ${authBasePath}/`);

describe('the routes of control', () => {
  it('are those that its description has', async () => {
    const registered = await registeredRoutes();
    expect(described.length).toBeGreaterThan(30);
    expect(registered.filter((route) => !isAuth(route)).sort()).toEqual(
      [...described.filter((route) => !isAuth(route)), ...ofProtocol].sort(),
    );
    // better-auth is behind one pattern.
    expect(registered.filter(isAuth).map((route) => route.split(' ')[1])).toEqual(Array(5).fill(`${authBasePath}/*`));
  });

  it('of sessions are those of better-auth that work here', () => {
    const { disabledPaths } = auth.options;
    const served = Object.values(auth.api as Record<string, { path?: string; options: { method?: string | string[] } }>)
      .flatMap(({ path, options }) =>
        path === undefined || disabledPaths.includes(path)
          ? []
          : [`${[options.method].flat()[0]} ${authBasePath}${path.replace(/:(\w+)/g, '{$1}')}`],
      )
      .sort();
    expect(described.filter(isAuth).sort()).toEqual(served);
  });
});
