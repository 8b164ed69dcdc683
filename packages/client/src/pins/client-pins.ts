import {
  type GatewayPins,
  gatewayPinsSchema,
  type ProviderFamily,
  type ProviderPins,
  providerFamilies,
  providerPinsSchema,
} from '@sotto/attestation';
import {
  type CreditIssuer,
  creditIssuerSchema,
  parseJson,
  problemOf,
  providerIdSchema,
  repeatedName,
} from '@sotto/wire';
import * as z from 'zod';
import { type PinnedRelease, pinnedReleaseSchema, type ReleaseLog, releaseLogSchema } from './pinned-release.ts';
import shipped from './pins.json' with { type: 'json' };

/**
 * The machines and enclaves that this client accepts. Pins come with the client or from its user, never from the
 * service.
 */
export interface ClientPins {
  readonly gateway: GatewayPins;
  /** Pins of providers' enclaves, by the provider's public id. */
  readonly providers?: Readonly<Record<string, EnclavePins>> | undefined;
  /** The issuer of blind credits, and its key of each year. */
  readonly credits?: CreditIssuer | undefined;
  /** Where the gateway's machines come from. `sotto pins add` writes it. */
  readonly releases?: readonly PinnedRelease[] | undefined;
  /** Operators' logs whose releases are accepted. */
  readonly logs?: readonly ReleaseLog[] | undefined;
}

/** The pins of this build: measurements of the releases that existed when it was built. */
export const shippedPins: ClientPins = shipped;

/** Whether the pins allow any machine to pass. */
export const hasMeasurements = ({ gateway }: ClientPins): boolean =>
  gateway.tdx !== undefined || gateway.sev_snp !== undefined;

const chuteModel = /^.+@[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Pins of one provider's enclaves. `family` and `models` decide how its evidence is read and which model it must be
 * for. If the service decided that, it could pass its own key off as the enclave's.
 */
const enclavePinsSchema = providerPinsSchema
  .extend({
    family: z.enum(providerFamilies, { error: `must be one of ${providerFamilies.join(', ')}` }),
    /**
     * The provider's own name for each model, by our id. For Chutes: `<model>@<chute id>`. Other models are not
     * trusted.
     */
    models: z.record(z.string().min(1).max(256), z.string().min(1).max(512)).optional(),
    /**
     * Accepts a family whose protocol lets a malicious broker read prompts and replies. Only the user's own pins may say
     * so, never those that ship with this build.
     */
    accept_relay_attacks: z.boolean().optional(),
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

const clientPinsSchema = z.strictObject({
  gateway: gatewayPinsSchema,
  providers: z.record(providerIdSchema, enclavePinsSchema).optional(),
  credits: creditIssuerSchema.optional(),
  releases: z.array(pinnedReleaseSchema).optional(),
  logs: z.array(releaseLogSchema).optional(),
});

/** Reads a file of pins. Returns a sentence about the problem if the file is invalid. */
export function readPins(text: string): ClientPins | string {
  const value = parseJson(text);
  if (value === undefined) return 'it is not valid JSON';
  const repeated = repeatedName(text);
  if (repeated !== undefined) return `it has \`${repeated}\` twice, and only the last one would count; remove one`;
  const parsed = clientPinsSchema.safeParse(value);
  return parsed.success ? parsed.data : problemOf(parsed.error, 'it');
}

/** Checks pins that were given as an object. Returns a sentence about the problem, or undefined for valid pins. */
export function problemOfPins(pins: unknown): string | undefined {
  const parsed = clientPinsSchema.safeParse(pins);
  return parsed.success ? undefined : problemOf(parsed.error, 'it');
}

/** The pins of one route. Undefined fields were not pinned, and no other source may supply them. */
interface RoutePins {
  readonly family: ProviderFamily | undefined;
  readonly upstreamModel: string | undefined;
  readonly machines: ProviderPins | undefined;
  readonly acceptsRelayAttacks: boolean;
}

/**
 * Finds the pins of a provider, or of the provider it is a variant of (`acme` for `acme/eu`), and its name for the
 * model.
 */
export function pinsOfRoute(
  providers: Readonly<Record<string, EnclavePins>> = {},
  { provider, model }: { readonly provider: string; readonly model: string },
): RoutePins {
  const found = own(providers, provider) ?? own(providers, provider.split('/')[0] ?? '');
  if (found === undefined) {
    return { family: undefined, upstreamModel: undefined, machines: undefined, acceptsRelayAttacks: false };
  }
  const { family, models = {}, accept_relay_attacks: acceptsRelayAttacks = false, ...machines } = found;
  return { family, upstreamModel: own(models, model), machines, acceptsRelayAttacks };
}

/** The service chooses the names, so `constructor` must not find a property that every object inherits. */
const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;
