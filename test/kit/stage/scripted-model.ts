import type { Prices } from '../catalog.ts';
import type { ProviderSpec, StageSpec } from './spec.ts';

export const pricing = { input: 1, output: 3 };
/** The total time limit of a request, unless a stage says otherwise. */
export const totalMs = 4000;

type Servers = Readonly<Record<string, NonNullable<ProviderSpec['server']>>>;

/** Scripted providers of one model, `m/one`. */
export function scriptedModel({
  prices = pricing as Prices,
  servers = { alpha: 'scripted' } as Servers,
  limitMs = totalMs,
} = {}): StageSpec {
  const timeouts = { connect_ms: 1000, first_byte_ms: 3000, idle_ms: 3000, total_ms: limitMs };
  const ofEach = <T>(value: (server: Servers[string]) => T): Record<string, T> =>
    Object.fromEntries(Object.entries(servers).map(([id, server]) => [id, value(server)]));
  return {
    providers: ofEach((server) => ({ server, timeouts })),
    models: { 'm/one': { routes: ofEach(() => ({ pricing: prices })) } },
    limits: { context_length: 200_000, max_output_tokens: 100_000 },
  };
}
