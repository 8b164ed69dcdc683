import { createPrivateFetch, type PrivateFetch } from '@sotto/client';
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
