import type { VerificationReport } from '@sotto/client';
import { formatInstant } from '../../format/time.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Sentence } from '../../ui/sentence.tsx';
import { Card } from '../../ui/surface.tsx';
import { CheckGroups } from '../../verification/checks.tsx';
import { VerdictBadge } from '../../verification/verdict-badge.tsx';
import { verdictWords } from '../../verification/verdicts.ts';

const gpuWords = {
  none: 'No evidence of them',
  refuted: 'Refuted',
  key_unpinned: 'Signed by a key that is not proven to be NVIDIA’s',
  token_checked: 'NVIDIA vouches for them',
} as const;

/** One verification of hop 2, or why there was nothing to look at. */
export function EnclaveReport({
  enclave,
  json,
}: {
  readonly enclave: NonNullable<VerificationReport['enclave']>;
  readonly json: string;
}) {
  const copy = <CopyButton text={json} label="Copy the report as JSON" />;
  if (!('verdict' in enclave)) {
    return (
      <Card title="Verdict" actions={copy}>
        <p>
          <VerdictBadge verdict="unavailable" />
        </p>
        <p className="mt-2">
          <Sentence text={enclave.message} />
        </p>
        <p className="font-mono text-sm text-muted">{enclave.type}</p>
      </Card>
    );
  }
  const { verdict, provider, model, nonce, verifiedAt, contentVisible, gpu, isCurrent, checks } = enclave;
  return (
    <Card title="Verdict" actions={copy}>
      <div className="space-y-5">
        <p>
          <VerdictBadge verdict={verdict} />
          <span className="mt-1 block">{verdictWords[verdict].meaning}</span>
        </p>
        <Facts
          facts={[
            { name: 'Provider', value: provider },
            { name: 'Model', value: model },
            {
              name: 'Content',
              value: contentVisible ? 'This service sees it on its way' : 'Only the enclave can read it',
            },
            { name: 'Up to date', value: isCurrent ? 'Yes' : 'Not shown to be' },
            {
              name: 'GPUs',
              value: gpu.reason === undefined ? gpuWords[gpu.standing] : `${gpuWords[gpu.standing]}: ${gpu.reason}`,
            },
            { name: 'Verified at', value: formatInstant(new Date(verifiedAt).toISOString()) },
            { name: 'Nonce of this browser', value: <code className="font-mono text-sm break-all">{nonce}</code> },
          ]}
        />
        <CheckGroups checks={checks} />
      </div>
    </Card>
  );
}
