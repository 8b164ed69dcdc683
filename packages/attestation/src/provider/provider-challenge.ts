import { Refusal, Unmade } from '../refusal.ts';
import { type ProviderEvidence, type ProviderFamily, providerFamilies } from './provider-evidence.ts';
import type { ProviderPins } from './provider-pins.ts';

/** The requested route, and the evidence that is accepted for it. */
export interface ProviderChallenge {
  /** The client's own fresh nonce: 64 lower-case hex digits. */
  readonly nonce: string;
  /** The provider's public id. */
  readonly provider: string;
  readonly model: string;
  readonly privacyClass: 'tee' | 'e2ee';
  /**
   * The format that the provider's evidence must have, from the client's pins or the measured registry. If a relay
   * could choose it, it could present one family's nonce, which anyone may set, as another family's key. Undefined:
   * `untrusted`.
   */
  readonly family: ProviderFamily | undefined;
  /**
   * The provider's own name for the model, from the same source. For Chutes `<model>@<chute id>`. Undefined:
   * `untrusted`.
   */
  readonly upstreamModel: string | undefined;
  /** The client's own pins, never the server's. Without measurements, no verdict exceeds `untrusted`. */
  readonly pins: ProviderPins | undefined;
  readonly now: Date;
  /** How much the client's clock may be off. Default: five minutes. */
  readonly toleranceMs?: number | undefined;
}

/**
 * Refuses every difference between the document and the requested or pinned route. Never takes a value from the
 * document that the challenge omits. Returns the pinned upstream model.
 */
export function requireRoute(evidence: ProviderEvidence, challenge: ProviderChallenge): string {
  const { provider, model, privacyClass, nonce, family, upstreamModel } = challenge;
  const asked = {
    provider: [evidence.provider, provider],
    model: [evidence.model, model],
    'privacy class': [evidence.privacy_class, privacyClass],
    nonce: [evidence.nonce, nonce],
  };
  for (const [what, [attested, own]] of Object.entries(asked)) {
    if (attested !== own) throw new Refusal(`the evidence is of another ${what} than was asked for`);
  }
  if (family !== undefined && evidence.family !== family) {
    throw new Refusal(`the evidence is of the family ${evidence.family}, and ${family} is pinned`);
  }
  if (upstreamModel !== undefined && evidence.upstream_model !== upstreamModel) {
    throw new Refusal('the evidence is of another upstream model than is pinned');
  }
  if (family === undefined) {
    throw new Unmade(
      `the pins of ${provider} name no family: add "family", one of ${providerFamilies.join(', ')}, as you know the provider to be`,
    );
  }
  if (upstreamModel === undefined) {
    const chute = family === 'chutes' ? '@<chute id>' : '';
    throw new Unmade(
      `the pins of ${provider} do not name ${model}: add "models": {"${model}": "<the provider's own name for it>${chute}"}`,
    );
  }
  return upstreamModel;
}
