import { bindCatalog, type Catalog, type CatalogFile, catalogFileSchema } from '@sotto/router';
import type { PrivacyClass } from '@sotto/wire';
import { around, between, randomOf, shuffled } from '../../../test/kit/random.ts';
import type { SimulatedProvider } from './providers.ts';

/** A model, and the premium that the private tiers charge over the anonymous one. */
interface SimulatedModel {
  readonly id: string;
  /** USD per million tokens: the average price of the anonymous tier. */
  readonly input: number;
  readonly output: number;
  readonly premium: Readonly<Record<PrivacyClass, number>>;
}

const premium = (ofPrivate: number, tee: number): SimulatedModel['premium'] => ({
  anonymous: 1,
  private: ofPrivate,
  tee,
  e2ee: tee,
});

/**
 * The premiums are on both sides of the thresholds of the tier rules (docs/concepts/routing.md). The first model gets
 * the most requests (Zipf).
 */
export const models: readonly SimulatedModel[] = [
  { id: 'lab/medium', input: 0.5, output: 1.5, premium: premium(1.1, 1.3) },
  { id: 'lab/small', input: 0.1, output: 0.4, premium: premium(1.05, 2.2) },
  { id: 'lab/large', input: 2, output: 8, premium: premium(1.2, 1.5) },
  { id: 'lab/coder', input: 1, output: 4, premium: premium(1, 1.1) },
  { id: 'lab/frontier', input: 3, output: 15, premium: premium(4.5, 9) },
  { id: 'lab/mini', input: 0.05, output: 0.2, premium: premium(1.3, 1.6) },
];

/** The number of providers of the other tiers that serve a model. */
const otherRoutes = { anonymous: 11, private: 7, e2ee: 1 } as const;
/** At these hours some providers change their prices. */
export const priceChangeHours = [3, 9, 14, 20];
const changing = 0.25;

/** A catalog, and the time in ms since the day's start from which it is active. */
export interface DatedCatalog {
  readonly fromMs: number;
  readonly catalog: Catalog;
}

/** The day's catalogs, bound as a broker binds them. */
export function drawCatalogs(seed: number, providers: readonly SimulatedProvider[], teeRoutes: number): DatedCatalog[] {
  const routesByTier: Readonly<Record<PrivacyClass, number>> = { ...otherRoutes, tee: teeRoutes };
  const random = randomOf(seed, 2);
  const served = models.map((model) => {
    const chosen = shuffled(random, providers).filter(
      ({ tier }, at, all) => all.slice(0, at).filter((other) => other.tier === tier).length < routesByTier[tier],
    );
    return { model, offers: chosen.map((provider) => ({ provider, factor: around(random, 1, 0.1) })) };
  });
  const changes = new Map(providers.map(({ id }) => [id, 1]));
  return [0, ...priceChangeHours].map((hour, index) => {
    if (hour > 0) {
      for (const { id } of providers) {
        if (random.chance(changing)) changes.set(id, (changes.get(id) ?? 1) * between(random, 0.75, 1.35));
      }
    }
    const file = {
      models: served.map(({ model, offers }) => ({
        id: model.id,
        model_type: 'text',
        context_length: 131_072,
        max_output_tokens: 16_384,
        routes: offers.map(({ provider, factor }) => {
          const asked = model.premium[provider.tier] * provider.priceFactor * factor * (changes.get(provider.id) ?? 1);
          return {
            provider: provider.id,
            upstream_model: model.id,
            privacy_class: provider.tier,
            pricing: pricing(model, asked, provider.cachedInputFactor),
          };
        }),
      })),
    };
    return { fromMs: hour * 3_600_000, catalog: bind(catalogFileSchema.parse(file), providers, index + 1) };
  });
}

function pricing(model: SimulatedModel, asked: number, cachedInputFactor: number | undefined) {
  const input = rounded(model.input * asked);
  return {
    input,
    output: rounded(model.output * asked),
    ...(cachedInputFactor === undefined ? {} : { cached_input: rounded(input * cachedInputFactor) }),
  };
}

/** Rounds prices to three significant digits, with a minimum of $0.0001 per million. */
const rounded = (usd: number): number => Math.max(0.0001, Number(Number(usd.toPrecision(3)).toFixed(4)));

function bind(file: CatalogFile, providers: readonly SimulatedProvider[], version: number): Catalog {
  const registry = {
    digest: '',
    providers: providers.map(({ id, tier }) => ({ id, name: id, listed: true, privacy_class: tier, available: true })),
  };
  const { catalog, dropped } = bindCatalog(file, registry, { version, digest: '' });
  if (dropped.length > 0) throw new Error('the simulated catalog does not fit its registry');
  return catalog;
}
