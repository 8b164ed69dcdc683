import type { ProviderEvidence } from '@sotto/attestation';
import { type EvidenceQuestion, evidenceFamilies, type ShownMachine } from '@sotto/providers';
import type { EvidenceSources } from './provider-documents.ts';

/** The route that evidence is for, in the words of its document. */
export type AttestedRoute = Readonly<
  Pick<ProviderEvidence, 'provider' | 'model' | 'upstream_model' | 'privacy_class' | 'family'>
>;

/**
 * Asks a provider for evidence, and puts it into one document with the vendors' signed documents about its machine. It
 * judges nothing. Throws `NoEvidence`.
 */
export async function obtainEvidence(
  route: AttestedRoute,
  { vendors, ...asked }: Pick<EvidenceQuestion, 'nonce' | 'now'> & EvidenceSources,
): Promise<{ readonly [name: string]: unknown }> {
  const { upstream_model: upstreamModel, privacy_class: privacyClass } = route;
  const { machine, evidence } = await evidenceFamilies[route.family]({ ...asked, upstreamModel, privacyClass });
  return {
    version: 'sotto.provider.evidence.v1' satisfies ProviderEvidence['version'],
    ...route,
    nonce: asked.nonce,
    obtained_at: new Date(asked.now).toISOString(),
    evidence: { ...evidence, machine: await withVendors(machine, vendors) },
  };
}

async function withVendors(
  machine: ShownMachine,
  vendors: EvidenceSources['vendors'],
): Promise<Record<string, unknown>> {
  if (machine.teeType === 'tdx') {
    const { quote, eventLog, appCompose } = machine;
    const collateral = await vendors.collateralFor(quote).catch(() => undefined);
    return {
      tee_type: 'tdx',
      quote: quote.toString('base64'),
      ...(collateral === undefined ? {} : { collateral }),
      ...(eventLog === undefined ? {} : { event_log: eventLog }),
      ...(appCompose === undefined ? {} : { app_compose: appCompose }),
    };
  }
  const base64 = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('base64');
  const endorsement = await vendors.endorsementFor(machine.report).catch(() => undefined);
  const list = endorsement?.revocationList;
  return {
    tee_type: 'sev_snp',
    report: base64(machine.report),
    endorsement_key: base64(endorsement?.endorsementKey),
    intermediate: base64(endorsement?.intermediate),
    ...(list === undefined ? {} : { revocation_list: base64(list) }),
  };
}
