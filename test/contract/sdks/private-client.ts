import { createPrivateFetch, type PrivateFetch } from '@sotto/client';
import OpenAI from 'openai';
import type { ClientWorld } from './world.ts';

const made = new WeakMap<object, PrivateFetch>();

/** Our own client, as a `fetch` for the others: it verifies the service's simulated evidence once, as its users would. */
export function privateFetchOf({ service, inferenceKey }: ClientWorld): PrivateFetch {
  const known = made.get(service);
  if (known !== undefined) return known;
  const { controlUrl: controlOrigin, baseUrl: baseOrigin } = service;
  const fetch = createPrivateFetch({ apiKey: inferenceKey, controlOrigin, baseOrigin, allowSimulated: true });
  made.set(service, fetch);
  return fetch;
}

/** OpenAI's client in both flows, for the libraries that wrap one. */
export const openAiClients = (world: ClientWorld) => {
  const clientWith = (options: { readonly apiKey: string; readonly fetch?: PrivateFetch }): OpenAI =>
    new OpenAI({ baseURL: world.service.baseUrl, maxRetries: 0, ...options });
  return {
    'compatibility mode': () => clientWith({ apiKey: world.inferenceKey }),
    'the ticket flow': () => clientWith({ apiKey: 'never-sent', fetch: privateFetchOf(world) }),
  };
};
