import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { linkClass } from '../../ui/button.tsx';
import { ErrorState, Skeleton } from '../../ui/surface.tsx';
import { CheckField } from '../../ui/toggle-fields.tsx';
import { gatewayVerificationQuery, ownPins } from '../../verification/client.ts';
import { oneProcessSentence, useOneProcess } from '../../verification/one-process.tsx';
import { VerdictBadge } from '../../verification/verdicts.tsx';
import { standingOf } from './standing.ts';

interface PageVerificationProps {
  readonly allowSimulated: boolean;
  readonly onAllowSimulated: (allowed: boolean) => void;
}

/** The verification by this browser of the machine that would read content. */
export function PageVerification({ allowSimulated, onAllowSimulated }: PageVerificationProps) {
  const { data, error, isFetching, refetch } = useQuery(gatewayVerificationQuery(ownPins.use()));
  const isOneProcess = useOneProcess();
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined) {
    return (
      <div role="status" className="space-y-2">
        <p className="text-sm text-muted">The broker is being verified…</p>
        <Skeleton className="h-6 w-44" />
      </div>
    );
  }
  const standing = standingOf(data);
  return (
    <section aria-label="Verification" aria-busy={isFetching} className="space-y-2 border-t border-line pt-3">
      <p className="flex flex-wrap items-center gap-2">
        <span className="text-sm">Verdict</span>
        <VerdictBadge verdict={data.verdict} />
      </p>
      <p className="text-sm" role="status">
        {standing.sentence}
      </p>
      {isOneProcess && <p className="text-sm text-warn">{oneProcessSentence}</p>}
      {standing.kind === 'simulated' && (
        <CheckField
          label="Continue with simulated evidence"
          hint="For development on this machine."
          checked={allowSimulated}
          onChange={onAllowSimulated}
        />
      )}
      <p className="flex flex-wrap gap-x-4 text-sm">
        <Link to="/verify" className={linkClass}>
          Every check
        </Link>
        {standing.kind === 'refused' && (
          <button type="button" className={linkClass} onClick={() => void refetch()}>
            Verify again
          </button>
        )}
      </p>
    </section>
  );
}
