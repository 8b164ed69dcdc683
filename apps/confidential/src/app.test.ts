import { channel } from 'node:diagnostics_channel';
import { confidentialOrigin } from '@sotto/contract/confidential';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { type BrokerAppOptions, buildApp } from './app.ts';

/** Registering routes reads none of their dependencies. */
const untouched = { events: {}, admission: {} } as never;

async function registeredRoutes(media: BrokerAppOptions['media']): Promise<string[]> {
  const routes: string[] = [];
  const watch = (message: unknown): void => {
    const { fastify } = message as { readonly fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ method, url }) => {
      // Fastify adds a HEAD route for each GET route.
      const named = [method].flat().filter((each) => each !== 'HEAD');
      routes.push(...named.map((each) => `${each} ${url.replace(/:(\w+)/g, '{$1}')}`));
    });
  };
  const initialization = channel('fastify.initialization');
  initialization.subscribe(watch);
  const app = buildApp({
    inference: untouched,
    receipts: untouched,
    tee: untouched,
    media,
    isReady: async () => true,
    requestMemory: 2 ** 30,
    trustProxy: false,
    tls: undefined,
    isForLoopback: false,
    gateway: untouched,
  });
  initialization.unsubscribe(watch);
  await app.ready();
  await app.close();
  return routes.sort();
}

const described = confidentialOrigin.routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort();

describe('a broker without TLS on more than loopback', () => {
  const ask = async (host: string, url = '/v1/openapi.json') => {
    const app = buildApp({
      ...{ receipts: untouched, tee: untouched, gateway: undefined },
      inference: { events: { refused: () => {} }, admission: {} } as never,
      media: { image: false, speech: false },
      ...{ isReady: async () => true, requestMemory: 2 ** 30, trustProxy: false, tls: undefined, isForLoopback: true },
    });
    const { statusCode } = await app.inject({ url, headers: { host } });
    await app.close();
    return statusCode;
  };

  it.each(['localhost:4001', 'localhost', '127.0.0.1:4001', '[::1]:4001', 'LOCALHOST:4001'])(
    'serves %s',
    async (host) => {
      expect(await ask(host)).toBe(200);
    },
  );

  it.each(['api.example.com', '192.168.1.5:4001', 'localhost.example.com', 'localhost@example.com', '[::1].x'])(
    'refuses requests to `%s`, and tells its health',
    async (host) => {
      expect(await ask(host)).toBe(403);
      expect(await ask(host, '/v1/nothing')).toBe(403);
      expect(await ask(host, '/readyz')).toBe(200);
    },
  );
});

describe('the routes of the broker', () => {
  it.each([
    { image: true, speech: true },
    { image: false, speech: false },
  ])('match its description, with %j', async (media) => {
    expect(described.length).toBeGreaterThan(8);
    expect(await registeredRoutes(media)).toEqual(described);
  });
});
