import type { ShownGateway } from '@sotto/client/playground';
import { formatCountOf } from '../format/format.ts';
import { Instant } from '../ui/text.tsx';
import { byOutcome, CheckGroups } from '../verification/checks.tsx';
import { VerdictBadge, verdictWords } from '../verification/verdicts.tsx';

/** The verification by the command of the machine that reads content. */
export function CommandVerification({ gateway }: { gateway: ShownGateway }) {
  const { verdict, checks, teeType, origin, verifiedAt } = gateway;
  const { passed, failed, notMade } = byOutcome(checks);
  return (
    <section aria-label="Verification" className="space-y-2 border-t border-line pt-3">
      <p className="flex flex-wrap items-center gap-2">
        <span className="text-sm">Verdict</span>
        <VerdictBadge verdict={verdict} />
      </p>
      <p className="text-sm break-words">
        The sotto command checked {origin} <Instant at={new Date(verifiedAt).toISOString()} />.{' '}
        {teeType === 'simulated'
          ? 'The evidence is simulated. No hardware protects your content.'
          : verdictWords[verdict].meaning}
      </p>
      <details className="text-sm">
        <summary className="min-h-6 cursor-pointer">
          {`${formatCountOf(checks.length, 'check')}: ${String(passed.length)} passed, ${String(failed.length)} failed, ${String(notMade.length)} skipped`}
        </summary>
        <div className="mt-2">
          <CheckGroups checks={checks} />
        </div>
      </details>
    </section>
  );
}
