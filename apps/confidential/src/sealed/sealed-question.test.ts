import type { Catalog, Route } from '@sotto/router';
import { expect, it } from 'vitest';
import type { ProviderSet } from '../providers/provider-set.ts';
import { neighboursOf } from './sealed-question.ts';

const addresses: Readonly<Record<string, string>> = {
  own: 'https://enclave.example/v1',
  slash: 'https://enclave.example/v1/',
  port: 'https://ENCLAVE.example:443/v1',
  other: 'https://enclave.example/v2',
};
const routes = Object.keys(addresses).map((id) => ({ id: `m@${id}`, providerId: id }) as Route);
const catalog = { models: new Map([['m', { type: 'text', routes }]]) } as unknown as Catalog;
const providers = {
  get: (id: string) => ({ entry: { base_url: addresses[id] } }),
} as unknown as ProviderSet;

it('neighbours of a route are those at the same address, however it is written', () => {
  const [own] = routes;
  if (own === undefined) throw new Error('a route is missing');
  expect(neighboursOf(own, providers, catalog).map(({ providerId }) => providerId)).toEqual(['slash', 'port']);
});
