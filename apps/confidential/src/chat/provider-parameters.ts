import { parameterPaths, refusedParameter } from '@sotto/providers';
import { matchesProvider, otherProviderId, type Route, refuse } from '@sotto/router';
import { providerParameters, ServiceError } from '@sotto/wire';
import type { ProviderSet } from '../providers/provider-set.ts';

type Parameters = Readonly<Record<string, unknown>>;

/** The `<provider id>_parameters` of one chat body. */
interface ProviderParameters {
  /** Size in UTF-8 bytes, as JSON, of the parameters for providers of the registry. */
  readonly bytes: number;
  readonly stripReasoning: boolean;
  for(publicProviderId: string): Parameters;
  /**
   * Returns the refusal if a provider of one of these routes does not accept its parameters; undefined if all do.
   * Parameters for providers that cannot serve the request are not checked.
   */
  refusalBy(routes: readonly Route[]): ReturnType<typeof refuse> | undefined;
  /** Drops all of them. */
  forget(): void;
}

/** Reads the provider parameters of a raw body. Throws if their form is wrong. */
export function readParameters(body: object, providers: ProviderSet): ProviderParameters {
  const read = providerParameters(body);
  if (!read.ok) throw new ServiceError('invalid_request', read);
  refuseUnclearStrip(read.byProvider);
  const named = [...read.byProvider]
    .filter(([name]) => providers.publicIds.some((id) => matchesProvider(name, id)))
    .map(([name, { strip_thinking_response: strip, ...own }]) => ({ name, own, strip: strip === true }));
  // Longer names come last and win, because a name with a region is more specific than the provider's name alone.
  named.sort((one, other) => one.name.length - other.name.length);
  const matching = (publicProviderId: string) => named.filter(({ name }) => matchesProvider(name, publicProviderId));
  return {
    bytes: named.reduce((sum, { own }) => sum + Buffer.byteLength(JSON.stringify(own)), 0),
    stripReasoning: named.some(({ strip }) => strip),
    for: (publicProviderId) => Object.fromEntries(matching(publicProviderId).flatMap(({ own }) => Object.entries(own))),
    refusalBy(routes) {
      if (named.length === 0) return undefined;
      for (const { providerId, publicProviderId } of routes) {
        const provider = providers.get(providerId);
        if (provider === undefined) continue;
        // An unlisted provider takes no parameters: the error would tell which API it speaks.
        const taken = publicProviderId === otherProviderId ? {} : provider.adapter.callerParameters;
        for (const { name, own } of matching(publicProviderId)) {
          const refused = refusedParameter(own, taken);
          if (refused === undefined) continue;
          const param = [`${name}_parameters`, ...refused.map((step) => step.slice(0, 64))].join('.');
          return refuse('invalid_request', `\`${param}\` is not taken. ${takenWords(parameterPaths(taken))}`, param);
        }
      }
      return undefined;
    },
    forget() {
      named.length = 0;
    },
  };
}

const takenWords = (known: readonly string[]): string =>
  known.length === 0
    ? 'Leave it out.'
    : `This provider takes ${known.map((path) => `\`${path}\``).join(', ')} and \`strip_thinking_response\`.`;

/**
 * Any other value would show a reasoning trace that the caller meant to hide. Names of unknown providers are checked,
 * too, so that the answer does not tell which ones exist.
 */
function refuseUnclearStrip(byProvider: ReadonlyMap<string, Parameters>): void {
  for (const [providerId, { strip_thinking_response: strip }] of byProvider) {
    if (strip != null && typeof strip !== 'boolean') {
      const param = `${providerId.slice(0, 64)}_parameters.strip_thinking_response`;
      throw new ServiceError('invalid_request', { message: '`strip_thinking_response` must be a boolean.', param });
    }
  }
}
