import type { ProviderFamily } from '@sotto/attestation';
import {
  canRead,
  isRefusedByDefault,
  modelAnswerSchema,
  type ProviderPolicyObject,
  parseModelReference,
  relayAttacksOnFamily,
  relaySentence,
  ServiceError,
} from '@sotto/wire';
import * as z from 'zod';
import { ClientError } from '../errors.ts';
import { type ClientPins, pinsOfRoute } from '../pins/client-pins.ts';
import type { Control } from '../private/control.ts';
import type { EnclaveQuestion } from './verify-enclave.ts';

/** The one provider that a request is encrypted to. */
export interface EnclaveRoute {
  /** The model's canonical id. */
  readonly model: string;
  /** The provider's public id. */
  readonly provider: string;
  /** The policy that allows only this provider. The ticket and the request name it. */
  readonly policy: ProviderPolicyObject;
  /** The output limit of the route, in tokens. */
  readonly maxOutputTokens: number | undefined;
}

/** A provider and a model, by their public ids. */
interface Named {
  readonly provider: string;
  readonly model: string;
}

/** The family that the client's own pins name for the enclave of a route. Undefined if they do not name the route. */
export type PinnedFamily = (route: Named) => ProviderFamily | undefined;

/** Whether the user accepts that a malicious broker may read the content of a route. */
export type AcceptsRelayAttacks = (route: Named) => boolean;

/** Returns the family that these pins name for a route. */
export const familyPinnedBy =
  ({ providers }: ClientPins): PinnedFamily =>
  (route) => {
    const { family, upstreamModel } = pinsOfRoute(providers, route);
    return upstreamModel === undefined ? undefined : family;
  };

// The client reads only these fields of the list, loosely: a newer service may send more.
const routeSchema = z.object({
  provider: z.string(),
  privacy_class: z.string(),
  max_output_tokens: z.int().nullish(),
});
const listSchema = z.object({
  data: z.array(
    z.object({
      id: modelAnswerSchema.shape.id,
      max_output_tokens: z.int().nullish(),
      provider_routes: z.array(routeSchema),
    }),
  ),
});
export type EnclaveModels = z.infer<typeof listSchema>;

/**
 * Asks the control origin for its models. Returns a refusal unchanged. Throws `control_unreachable` for an answer that
 * is not a list. The list offers routes. It does not prove that one can be trusted.
 */
export async function readModels(control: Control, signal?: AbortSignal): Promise<EnclaveModels | Response> {
  const answer = await control.read('/v1/models', signal);
  if (answer.status >= 400) return answer;
  const models = listSchema.safeParse(await answer.json().catch(() => undefined)).data;
  if (models === undefined) throw new ClientError('control_unreachable');
  return models;
}

/**
 * Chooses the enclave for a request among the model's end-to-end-encrypted routes that the policy allows. It sorts them
 * by `order`, then pinned ones first, of these the ones that no relay can read, then as listed. Throws the
 * `ServiceError` that the service would return, and `e2ee_relay_can_read` if a malicious broker could read every route
 * that is left and the user has not accepted that.
 */
export function chooseEnclave(
  models: EnclaveModels,
  asked: {
    readonly model: string;
    readonly policy: ProviderPolicyObject;
    readonly pinnedFamily: PinnedFamily;
    readonly acceptsRelayAttacks: AcceptsRelayAttacks;
  },
): EnclaveRoute {
  const { id } = parseModelReference(asked.model);
  const model = models.data.find((each) => each.id === id);
  if (model === undefined) throw new ServiceError('model_not_found');
  const { only, ignore = [], order = [], max_price } = asked.policy;
  const names = (list: readonly string[], provider: string): number =>
    list.findIndex((each) => matches(each, provider));
  const allowed = model.provider_routes.filter(
    ({ provider, privacy_class }) =>
      privacy_class === 'e2ee' &&
      names(ignore, provider) === -1 &&
      (only === undefined || names(only, provider) !== -1),
  );
  const familyOf = ({ provider }: { readonly provider: string }) => asked.pinnedFamily({ provider, model: id });
  /** An unpinned route goes last. Its verification fails and tells the user which pin is missing. */
  const standing = (family: ProviderFamily | undefined): number => {
    if (family === undefined) return 3;
    if (isRefusedByDefault(family)) return 2;
    return canRead(relayAttacksOnFamily(family)) ? 1 : 0;
  };
  const rank = (route: { readonly provider: string }): number => {
    const at = names(order, route.provider);
    return (at === -1 ? order.length : at) * 4 + standing(familyOf(route));
  };
  const safe = allowed.filter(
    (each) => standing(familyOf(each)) !== 2 || asked.acceptsRelayAttacks({ provider: each.provider, model: id }),
  );
  const [route] = safe.toSorted((a, b) => rank(a) - rank(b));
  const [readable] = allowed;
  if (route === undefined && readable !== undefined) throw relayCanRead(readable.provider, familyOf(readable));
  if (route === undefined) {
    throw new ServiceError('no_provider_route_meets_privacy', {
      message: 'No provider of this model that your policy allows is end-to-end encrypted.',
    });
  }
  return {
    model: id,
    provider: route.provider,
    policy: {
      only: [route.provider],
      allow_fallbacks: false,
      minimum_privacy: 'e2ee',
      ...(max_price === undefined ? {} : { max_price }),
    },
    maxOutputTokens: route.max_output_tokens ?? model.max_output_tokens ?? undefined,
  };
}

/** The refusal to send content that a malicious broker could read. */
export function relayCanRead(provider: string, family: ProviderFamily | undefined): ClientError {
  const detail =
    family === undefined
      ? {}
      : { detail: `${provider} is of the family ${family}. ${relaySentence(relayAttacksOnFamily(family))}` };
  return new ClientError('e2ee_relay_can_read', undefined, detail);
}

/**
 * Finds the enclave to verify among the model's routes of the class: the one of `provider`, else a pinned one, else the
 * first. Throws the `ServiceError` that the service would return.
 */
export function findEnclave(
  models: EnclaveModels,
  asked: {
    readonly model: string;
    readonly provider: string | undefined;
    readonly privacyClass: 'tee' | 'e2ee';
    readonly pinnedFamily: PinnedFamily;
  },
): EnclaveQuestion {
  const { privacyClass } = asked;
  const model = models.data.find(({ id }) => id === asked.model);
  if (model === undefined) throw new ServiceError('model_not_found');
  const routes = model.provider_routes.filter(
    ({ provider, privacy_class }) =>
      privacy_class === privacyClass && (asked.provider === undefined || matches(asked.provider, provider)),
  );
  const pinned = routes.find(({ provider }) => asked.pinnedFamily({ provider, model: model.id }) !== undefined);
  const route = pinned ?? routes[0];
  if (route !== undefined) return { model: model.id, provider: route.provider, privacyClass };
  const whose = asked.provider === undefined ? 'No provider' : 'No route of that provider';
  const other = privacyClass === 'e2ee' ? 'tee' : 'e2ee';
  throw new ServiceError('no_provider_route_meets_privacy', {
    message: `${whose} serves this model as \`${privacyClass}\`. Ask for \`${other}\` to verify the other kind of enclave.`,
  });
}

/** `acme` also names its variants, such as `acme/eu`. */
const matches = (named: string, provider: string): boolean => named === provider || provider.startsWith(`${named}/`);
