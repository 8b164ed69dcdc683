import { channel } from 'node:diagnostics_channel';
import { confidentialOrigin } from '@sotto/contract/confidential';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { type BrokerAppOptions, buildApp } from './app.ts';

/** Registering routes reads nothing of what they work with. */
const untouched = { events: {} } as never;

async function registeredRoutes(media: BrokerAppOptions['media']): Promise<string[]> {
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
    inference: untouched,
    receipts: untouched,
    tee: untouched,
    media,
    isReady: async () => true,
    trustProxy: false,
    tls: undefined,
    gateway: untouched,
  });
  initialization.unsubscribe(watch);
  await app.ready();
  await app.close();
  return routes.sort();
}

const described = confidentialOrigin.routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort();

describe('the routes of the broker', () => {
  it.each([
    { image: true, speech: true },
    { image: false, speech: false },
  ])('are those that its description has, with %j', async (media) => {
    expect(described.length).toBeGreaterThan(8);
    expect(await registeredRoutes(media)).toEqual(described);
  });
});
