import type { OriginVerification } from '@sotto/client';
import { useQuery } from '@tanstack/react-query';
import { formatInstant } from '../../format/time.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Card, Notice } from '../../ui/surface.tsx';
import { byOutcome, CheckGroups } from '../../verification/checks.tsx';
import { loadClient } from '../../verification/client.ts';
import { VerdictBadge } from '../../verification/verdict-badge.tsx';
import { verdictWords } from '../../verification/verdicts.ts';
import { provenanceOf } from './provenance.ts';
import { VerdictLadder } from './verdict-ladder.tsx';

const evidenceNames = { tdx: 'Intel TDX', sev_snp: 'AMD SEV-SNP', simulated: 'Simulated' } as const;

/** One verification of hop 1: the verdict, what it rests on, and every check. */
export function GatewayReport({ verification }: { verification: OriginVerification }) {
  const { verdict, checks, teeType, absence } = verification;
  const { failed, notMade, passed } = byOutcome(checks);
  return (
    <>
      {teeType === 'simulated' && (
        <Notice tone="warn">
          <p className="font-medium">The evidence is simulated</p>
          <p>
            No hardware protects anything here: this deployment is for development. The checks run as they would on real
            evidence, and the verdict is untrusted, always.
          </p>
        </Notice>
      )}
      <Card title="Verdict" actions={<CopyReport verification={verification} />}>
        <div className="grid gap-6 lg:grid-cols-2">
          <div className="space-y-2">
            <p className="text-lg">
              <VerdictBadge verdict={verdict} />
            </p>
            <p role="status">{verdictWords[verdict].meaning}</p>
            {absence !== undefined && <p>{absence}</p>}
            <p className="text-sm text-muted">
              {failed.length} failed, {notMade.length} not made, {passed.length} passed.
            </p>
          </div>
          <VerdictLadder verdict={verdict} />
        </div>
      </Card>
      <Evidence verification={verification} />
      {verdict !== 'unavailable' && (
        <Card
          title="Checks"
          lead="One failed check is enough for “Untrusted”. A check that was not made raises no verdict."
        >
          <CheckGroups checks={checks} />
        </Card>
      )}
    </>
  );
}

function Evidence({ verification }: { verification: OriginVerification }) {
  const { origin, nonce, verifiedAt, teeType, keySet, document } = verification;
  const provenance = provenanceOf(document);
  const code = (text: string) => <code className="font-mono text-sm break-all">{text}</code>;
  return (
    <Card title="Evidence">
      <Facts
        facts={[
          { name: 'Confidential origin', value: code(origin) },
          { name: 'Evidence', value: teeType === undefined ? 'None' : evidenceNames[teeType] },
          { name: 'Verified at', value: formatInstant(new Date(verifiedAt).toISOString()) },
          { name: 'Nonce of this browser', value: code(nonce) },
          ...(keySet === undefined
            ? []
            : [
                { name: 'Keys end', value: formatInstant(new Date(keySet.not_after * 1000).toISOString()) },
                { name: 'List of providers', value: code(keySet.provider_registry_digest) },
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
            ? [{ name: 'Built from', value: 'The evidence does not say.' }]
            : [
                {
                  name: 'Built from',
                  value: (
                    <a href={provenance.repository} className="break-all text-accent underline underline-offset-2">
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
        What each check asks, by hand as well:{' '}
        {provenance === undefined ? (
          <code className="font-mono">docs/guides/verify.md</code>
        ) : (
          <a
            href={`${provenance.repository.replace(/\/$/, '')}/blob/${provenance.commit}/docs/guides/verify.md`}
            className="text-accent underline underline-offset-2"
          >
            docs/guides/verify.md
          </a>
        )}{' '}
        in the source.
      </p>
    </Card>
  );
}

/** The report in the form of `sotto verify --json`. */
function CopyReport({ verification }: { verification: OriginVerification }) {
  const { data: text } = useQuery({
    queryKey: ['report', verification.nonce],
    queryFn: async () => (await loadClient()).reportJson({ gateway: verification }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return text === undefined ? null : <CopyButton text={text} label="Copy the report as JSON" />;
}
