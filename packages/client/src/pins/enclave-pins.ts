import { type ProviderFamily, type ProviderPins, providerFamilies, providerPinsSchema } from '@sotto/attestation';
import * as z from 'zod';

const chuteModel = /^.+@[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Pins of one provider's enclaves. `family` and `models` decide how its evidence is read and which model it must be for. If the
 * service decided that, a key of its own could pass for the enclave's.
 */
export const enclavePinsSchema = providerPinsSchema
  .extend({
    family: z.enum(providerFamilies, { error: `must be one of ${providerFamilies.join(', ')}` }),
    /** The provider's own name for each model, by our id; for Chutes `<model>@<chute id>`. Other models are not trusted. */
    models: z.record(z.string().min(1).max(256), z.string().min(1).max(512)).optional(),
  })
  .superRefine(({ family, models = {} }, context) => {
    if (family !== 'chutes') return;
    for (const [model, name] of Object.entries(models)) {
      if (chuteModel.test(name)) continue;
      context.addIssue({
        code: 'custom',
        path: ['models', model],
        message: 'must name its chute: `<model>@<chute id>`',
      });
    }
  });
export type EnclavePins = z.infer<typeof enclavePinsSchema>;

/** The pins of one route. Undefined fields were not pinned, and nothing else may stand in for them. */
export interface RoutePins {
  readonly family: ProviderFamily | undefined;
  readonly upstreamModel: string | undefined;
  readonly machines: ProviderPins | undefined;
}

/** Looks up a provider, or the one that it is a variant of (`acme` for `acme/eu`), and its name for the model. */
export function pinsOfRoute(
  providers: Readonly<Record<string, EnclavePins>> = {},
  { provider, model }: { readonly provider: string; readonly model: string },
): RoutePins {
  const found = own(providers, provider) ?? own(providers, provider.split('/')[0] ?? '');
  if (found === undefined) return { family: undefined, upstreamModel: undefined, machines: undefined };
  const { family, models = {}, ...machines } = found;
  return { family, upstreamModel: own(models, model), machines };
}

/** Names come from the service: `constructor` must not find what every object inherits. */
const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;
