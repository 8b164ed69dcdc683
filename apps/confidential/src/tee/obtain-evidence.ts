import type { ProviderEvidence, ProviderFamily } from '@sotto/attestation';
import { askChutes } from './families/chutes.ts';
import { askNear } from './families/near.ts';
import { askPhala } from './families/phala.ts';
import type { EvidenceQuestion, ShownEvidence, ShownMachine } from './families/question.ts';
import { askTinfoil } from './families/tinfoil.ts';
import { askVenice } from './families/venice.ts';
import type { EvidenceSources } from './provider-documents.ts';

/** The route that evidence is of, in the words of its document. */
export interface AttestedRoute {
  readonly provider: string;
  readonly model: string;
  readonly upstream_model: string;
  readonly privacy_class: 'tee' | 'e2ee';
  readonly family: ProviderFamily;
}

const families: Readonly<Record<ProviderFamily, (question: EvidenceQuestion) => Promise<ShownEvidence>>> = {
  near: askNear,
  phala: askPhala,
  venice: askVenice,
  tinfoil: askTinfoil,
  chutes: askChutes,
};

/**
 * Asks a provider for evidence and puts it into one document, with what the vendors sign about its machine. Judges nothing.
 * Throws `NoEvidence`.
 */
export async function obtainEvidence(
  route: AttestedRoute,
  { vendors, ...asked }: Pick<EvidenceQuestion, 'nonce' | 'now'> & EvidenceSources,
): Promise<{ readonly [name: string]: unknown }> {
  const { upstream_model: upstreamModel, privacy_class: privacyClass } = route;
  const { machine, evidence } = await families[route.family]({ ...asked, upstreamModel, privacyClass });
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
