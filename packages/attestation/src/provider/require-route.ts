import { Refusal, Unmade } from '../refusal.ts';
import type { ProviderChallenge } from './provider-challenge.ts';
import { type ProviderEvidence, providerFamilies } from './provider-evidence.ts';

/**
 * Refuses every disagreement between the document and what we asked for or pinned, and never takes from the document what we
 * left out. Returns the pinned upstream model.
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
