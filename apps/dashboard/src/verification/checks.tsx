import type { EnclaveVerification, OriginVerification } from '@sotto/client';
import { CircleCheck, CircleMinus, CircleX } from 'lucide-react';

type Check = OriginVerification['checks'][number] | EnclaveVerification['checks'][number];

const size = 'mt-0.5 size-5 shrink-0';

const outcomes = {
  passed: { word: 'Passed', icon: <CircleCheck aria-hidden className={`${size} text-good`} /> },
  failed: { word: 'Failed', icon: <CircleX aria-hidden className={`${size} text-danger`} /> },
  not_made: { word: 'Skipped', icon: <CircleMinus aria-hidden className={`${size} text-muted`} /> },
} as const;

/** Checks by their outcome: the failed ones first. */
export function CheckGroups({ checks }: { checks: readonly Check[] }) {
  const { failed, passed, notMade } = byOutcome(checks);
  const groups = [
    { title: 'Failed', checks: failed },
    { title: 'Passed', checks: passed },
    { title: 'Skipped', checks: notMade },
  ];
  return (
    <div className="space-y-6">
      {groups
        .filter(({ checks: { length } }) => length > 0)
        .map(({ title, checks: ended }) => (
          <section key={title}>
            <h3 className="text-sm font-medium">{`${title} (${String(ended.length)})`}</h3>
            <Checks label={title} checks={ended} />
          </section>
        ))}
    </div>
  );
}

/** Each check with its question, its outcome, and the reason if it did not pass. */
function Checks({ checks, label }: { checks: readonly Check[]; label: string }) {
  return (
    <ul aria-label={label} className="divide-y divide-line">
      {checks.map((check) => {
        const { word, icon } = outcomes[check.outcome];
        return (
          <li key={check.name} className="flex gap-3 py-2.5">
            {icon}
            <div className="min-w-0 flex-1">
              <p>
                {checkWords[check.name]}
                <span className="sr-only">: {word}</span>
              </p>
              <p className="font-mono text-[0.8125rem] break-all text-muted">{check.name}</p>
              {check.outcome !== 'passed' && <p className="text-sm break-words">{reasonOf(check.reason)}</p>}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** Splits checks by their outcome. */
export const byOutcome = (checks: readonly Check[]) => ({
  failed: checks.filter(({ outcome }) => outcome === 'failed'),
  notMade: checks.filter(({ outcome }) => outcome === 'not_made'),
  passed: checks.filter(({ outcome }) => outcome === 'passed'),
});

/** Makes a sentence of a reason, which the client writes to follow the name of its check. */
const reasonOf = (reason: string): string =>
  `${reason.charAt(0).toUpperCase()}${reason.slice(1)}${/[.!?]$/.test(reason) ? '' : '.'}`;

/** The question of each check, as docs/reference/attestation-checks.md lists them. */
const checkWords: Readonly<Record<Check['name'], string>> = {
  'gateway.format': 'The document is well-formed',
  'gateway.challenge': 'Nonce, origin and clock of this browser are usable',
  'gateway.pins': 'The pins of this client are well-formed',
  'gateway.key_set': 'The key set is well-formed',
  'gateway.key_set_validity': 'The key set is current, and valid for at most 90 days',
  'gateway.registry': 'The provider registry is pinned',
  'gateway.report_data': 'The hardware signed our nonce, our origin and this key set',
  'gateway.vendor': 'The hardware is by a vendor that your pins accept',
  'gateway.measurement': 'The measurement is pinned',
  'gateway.platform': 'The processor is pinned, if your pins name any',
  'gateway.provenance': 'The image that the document names is the measured one',
  'gateway.tls_key': 'The TLS key of the connection is in the key set',
  'gateway.channel': 'The evidence covers this very connection',
  'tdx.format': 'It is a TDX quote of a known version',
  'tdx.nothing_after': 'The quote has no trailing bytes',
  'tdx.td_attributes': 'The machine cannot be debugged',
  'tdx.xfam': 'Only known processor features are enabled',
  'tdx.seam_attributes': 'The TDX module is a production one',
  'tdx.no_service_td': 'No service can migrate the machine',
  'tdx.pck_chain': 'Intel certified the processor',
  'tdx.qe_signature': 'The processor signed for its quoting enclave',
  'tdx.qe_binding': 'The quoting enclave has the key of this quote',
  'tdx.quote_signature': 'The quoting enclave signed this quote',
  'tdx.collateral_format': 'Intel’s documents are complete',
  'tdx.collateral_dates': 'Intel’s documents are current',
  'tdx.evaluation_number': 'Intel’s documents are not older than pinned',
  'tdx.tcb_info': 'Intel signed the data about this processor',
  'tdx.qe_identity': 'Intel signed the data about the quoting enclave',
  'tdx.root_crl': 'No authority of the chain is revoked',
  'tdx.pck_crl': 'The processor’s certificate is not revoked',
  'tdx.platform_level': 'The firmware is up to date',
  'tdx.module_level': 'The TDX module is up to date',
  'tdx.qe_level': 'The quoting enclave is up to date',
  'tdx.tcb_status': 'The whole platform is up to date',
  'snp.format': 'It is a SEV-SNP report of a known version',
  'snp.guest_policy': 'The machine cannot be debugged',
  'snp.vmpl': 'The report comes from the pinned privilege level',
  'snp.chain': 'AMD certified the chip’s product line',
  'snp.endorsement': 'AMD certified this chip',
  'snp.signer': 'The certificate is for the key that signed',
  'snp.signature': 'The chip signed this report',
  'snp.product': 'The certificate matches the product',
  'snp.tcb_binding': 'The certificate matches the firmware',
  'snp.chip_binding': 'The certificate matches the chip',
  'snp.revocation': 'The certificate is not revoked',
  'snp.revocation_date': 'The list of revoked certificates is current',
  'snp.minimum_tcb': 'The firmware is not older than pinned',
  'dstack.event_log': 'The event log is well-formed',
  'dstack.boot_replay': 'The boot log replays to the measured registers',
  'dstack.runtime_replay': 'The start log replays to the measured registers',
  'dstack.machine_config': 'The machine’s configuration is the measured one',
  'dstack.identity': 'The log names the software once, before the system was ready',
  'dstack.app_compose': 'The compose file matches the running software',
  'provider.format': 'The provider’s document is well-formed',
  'provider.challenge': 'Nonce and clock of this browser are usable',
  'provider.pins': 'The pins of this client are well-formed',
  'provider.route': 'It is for the requested provider, model and tier, and for the pinned family and model name',
  'provider.freshness': 'It is bound to our nonce',
  'provider.key_binding': 'The hardware signed the encryption key',
  'provider.tls_binding': 'The hardware signed the TLS key',
  'provider.validity': 'The evidence has not expired',
  'provider.measurement': 'The measurement is pinned',
  'provider.platform': 'The processor is pinned',
  'simulated.format': 'The simulated evidence is well-formed',
  'simulated.signature': 'It is bound to our nonce, our origin and this key set',
  'simulated.hardware': 'Hardware signed it',
};
