import type { ClientPins, OriginVerification, PinnedRelease } from '@sotto/client';
import { bindingSentences } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import clsx from 'clsx';
import { formatInstant } from '../../format/format.ts';
import { linkClass } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Card, Notice } from '../../ui/surface.tsx';
import { Facts } from '../../ui/text.tsx';
import { byOutcome, CheckGroups } from '../../verification/checks.tsx';
import { loadClient } from '../../verification/client.ts';
import {
  browserMinimum,
  currencyFact,
  meets,
  type Verdict,
  VerdictBadge,
  verdictOrder,
  verdictWords,
} from '../../verification/verdicts.tsx';
import { provenanceOf } from './verify-rules.ts';

const evidenceNames = { tdx: 'Intel TDX', sev_snp: 'AMD SEV-SNP', simulated: 'Simulated' } as const;

interface Verified {
  verification: OriginVerification;
  /** Those of the verification. Undefined for those of this build. */
  pins: ClientPins | undefined;
}

/** One verification of hop 1: the verdict, its evidence, and every check. */
export function GatewayReport({ verification, pins }: Verified) {
  const { verdict, checks, teeType, absence } = verification;
  const { failed, notMade, passed } = byOutcome(checks);
  return (
    <>
      {teeType === 'simulated' && (
        <Notice tone="warn">
          <p className="font-medium">The evidence is simulated</p>
          <p>
            No hardware protects your content: this deployment is for development. The checks run as on real evidence,
            but the verdict is always untrusted.
          </p>
        </Notice>
      )}
      <Card title="Verdict" actions={<CopyReport verification={verification} pins={pins} />}>
        <div className="grid gap-6 lg:grid-cols-2">
          <div className="space-y-2">
            <p className="text-lg">
              <VerdictBadge verdict={verdict} />
            </p>
            <p role="status">{verdictWords[verdict].meaning}</p>
            {absence !== undefined && <p>{absence}</p>}
            <p className="text-sm text-muted">
              {failed.length} failed, {notMade.length} skipped, {passed.length} passed.
            </p>
          </div>
          <VerdictLadder verdict={verdict} />
        </div>
      </Card>
      <Evidence verification={verification} pins={pins} />
      {verdict !== 'unavailable' && (
        <Card title="Checks" lead="One failed check makes the verdict “Untrusted”. A skipped check never raises it.">
          <CheckGroups checks={checks} />
        </Card>
      )}
    </>
  );
}

function Evidence({ verification, pins }: Verified) {
  const { origin, nonce, verifiedAt, teeType, keySet, binding, document } = verification;
  const { data: client } = useClient();
  const releases = client?.releasesOf(pins ?? client.shippedPins, verification);
  const provenance = provenanceOf(document);
  const code = (text: string) => <code className="font-mono text-sm break-all">{text}</code>;
  return (
    <Card title="Evidence">
      <Facts
        facts={[
          { name: 'Confidential origin', value: code(origin) },
          { name: 'Evidence', value: teeType === undefined ? 'None' : evidenceNames[teeType] },
          currencyFact(verification),
          { name: 'Binding', value: bindingSentences[binding] },
          { name: 'Release', value: releaseWords(releases?.running, 'Not known from your pins.') },
          { name: 'Newest known release', value: releaseWords(releases?.newest, 'Your pins name no releases.') },
          { name: 'Verified at', value: formatInstant(verifiedAt) },
          { name: 'Nonce of this browser', value: code(nonce) },
          ...(keySet === undefined
            ? []
            : [
                { name: 'Keys expire', value: formatInstant(keySet.not_after * 1000) },
                { name: 'Provider registry', value: code(keySet.provider_registry_digest) },
                ...keySet.tls_public_keys.map((key, index) => ({
                  name:
                    keySet.tls_public_keys.length === 1 ? 'TLS key, SHA-256' : `TLS key ${String(index + 1)}, SHA-256`,
                  value: code(key.spki_sha256),
                })),
                ...keySet.receipt_signing_keys.map((key) => ({
                  name: `Receipt key (${key.algorithm})`,
                  value: code(key.key_id),
                })),
              ]),
          ...(provenance === undefined
            ? [{ name: 'Built from', value: 'Not in the evidence.' }]
            : [
                {
                  name: 'Built from',
                  value: (
                    <a href={provenance.repository} className={`break-all ${linkClass}`}>
                      {provenance.repository}
                    </a>
                  ),
                },
                { name: 'Commit', value: code(provenance.commit) },
                { name: 'Image', value: code(provenance.image_digest) },
              ]),
        ]}
      />
      <p className="mt-4 text-sm text-muted">
        All checks, and how to verify by hand:{' '}
        <Link to="/guides/$" params={{ _splat: 'use/verifying' }} className={linkClass}>
          Verify the service
        </Link>
        .
      </p>
    </Card>
  );
}

const useClient = () => useQuery({ queryKey: ['client'], queryFn: loadClient, staleTime: Number.POSITIVE_INFINITY });

const releaseWords = (release: PinnedRelease | undefined, otherwise: string): string =>
  release === undefined ? otherwise : `${release.version}, logged ${formatInstant(Date.parse(release.logged_at))}`;

/** The report in the form of `sotto verify --json`. */
function CopyReport({ verification, pins }: Verified) {
  const { data: client } = useClient();
  const text = client?.reportJson({
    gateway: verification,
    releases: client.releasesOf(pins ?? client.shippedPins, verification),
  });
  return text === undefined ? null : <CopyButton text={text} label="Copy the report as JSON" />;
}

/** All verdicts, strongest first, with the one that was reached. */
function VerdictLadder({ verdict }: { verdict: Verdict }) {
  return (
    <ol aria-label="Verdicts, strongest first" className="space-y-1">
      {verdictOrder.toReversed().map((one) => (
        <li
          key={one}
          aria-current={one === verdict ? 'true' : undefined}
          className={clsx(
            'rounded-lg border-l-4 px-3 py-1.5',
            one === verdict ? 'border-accent bg-raised' : 'border-line',
          )}
        >
          <p className="flex flex-wrap items-baseline justify-between gap-x-3">
            <span className={clsx(one === verdict && 'font-medium')}>{verdictWords[one].name}</span>
            <span className="text-sm text-muted">
              {one === verdict
                ? 'reached here'
                : !meets(browserMinimum, one)
                  ? 'not in a browser'
                  : one === browserMinimum
                    ? 'minimum for sending content'
                    : ''}
            </span>
          </p>
          <p className="text-sm text-muted">{verdictWords[one].meaning}</p>
        </li>
      ))}
    </ol>
  );
}
