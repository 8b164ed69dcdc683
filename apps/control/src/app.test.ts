import { channel } from 'node:diagnostics_channel';
import { controlOrigin } from '@sotto/contract/control';
import { createMemoryState, MemoryStore } from '@sotto/state';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { builtInBilling, readBillingPlan } from './billing/billing-settings.ts';
import { readConfigWithoutRedis } from './config.ts';
import { Issuer } from './wallets/issuer.ts';
import { buildControl } from './wiring.ts';

const origin = 'http://127.0.0.1:4000';
const sessionSecret = 'x'.repeat(32);
const openid = {
  issuer: 'https://id.example',
  clientId: 'x',
  clientSecret: 'x',
  name: 'Example',
  scopes: [],
  groupsClaim: 'groups',
};

async function registeredRoutes(): Promise<string[]> {
  const plan = await readBillingPlan(builtInBilling);
  if (!plan.ok) throw new Error('the built-in billing is malformed');
  const routes: string[] = [];
  const watch = (message: unknown): void => {
    const { fastify } = message as { readonly fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ method, url }) => {
      // Fastify adds a HEAD route to each GET route.
      const named = [method].flat().filter((each) => each !== 'HEAD');
      routes.push(...named.map((each) => `${each} ${url.replace(/:(\w+)/g, '{$1}')}`));
    });
  };
  const initialization = channel('fastify.initialization');
  initialization.subscribe(watch);
  const key = '00'.repeat(32);
  const read = readConfigWithoutRedis({
    DATABASE_URL: 'postgres://nowhere.invalid/none',
    CONTROL_ORIGIN: origin,
    CONFIDENTIAL_ORIGIN: 'http://127.0.0.1:4001',
    CATALOG_FILE: '/nonexistent',
    CONNECTED_APPS: 'on',
    SESSION_SECRET: sessionSecret,
    TICKET_SEALING_KEY: key,
    ACCOUNT_REF_KEY: key,
    SETTLEMENT_MAC_KEY: key,
    BILLING_TEST_RAIL: 'on',
  });
  if (!read.ok) throw new Error(read.message);
  const { app } = await buildControl({
    config: { ...read.settings, signIn: { ...read.settings.signIn, openid, scimToken: 'x'.repeat(32) } },
    state: createMemoryState({ store: new MemoryStore(() => 0) }),
    logger: pino({ level: 'silent' }),
    trustedOrigins: [],
    issuer: new Issuer('issuer.example', []),
    limitsRedis: undefined,
    plan: plan.settings,
  });
  initialization.unsubscribe(watch);
  await app.ready();
  await app.close();
  return routes;
}

const described = controlOrigin.routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
/** Routes of the OAuth protocol, which its own discovery document describes. */
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

describe('the routes of control', () => {
  it('are the routes in its API description', async () => {
    const registered = await registeredRoutes();
    expect(described.length).toBeGreaterThan(30);
    expect(registered.toSorted()).toEqual([...described, ...ofProtocol].toSorted());
  });
});
