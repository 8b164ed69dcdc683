import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { linkClass } from '../../ui/button.tsx';
import { RadioCards } from '../../ui/field.tsx';
import { Card, ErrorState, Skeleton } from '../../ui/surface.tsx';
import { CheckField } from '../../ui/toggle-fields.tsx';
import { gatewayVerificationQuery, ownPins } from '../../verification/client.ts';
import { wayWords } from '../../verification/privacy-path.tsx';
import { VerdictBadge } from '../../verification/verdicts.tsx';
import type { Way } from './playground-search.ts';
import { standingOf } from './standing.ts';

interface WayCardProps {
  readonly way: Way;
  readonly offered: readonly Way[];
  readonly onChange: (way: Way) => void;
  readonly allowSimulated: boolean;
  readonly onAllowSimulated: (allowed: boolean) => void;
}

/** Chooses how content leaves this browser, and shows the verification of the machine that would read it. */
export function WayCard({ way, offered, onChange, allowSimulated, onAllowSimulated }: WayCardProps) {
  return (
    <Card title="Way">
      <div className="space-y-4">
        {offered.length === 1 ? (
          <p>
            <span className="font-medium">{wayWords[way].label}</span>
            <span className="block text-sm text-muted">{wayWords[way].text}</span>
          </p>
        ) : (
          <RadioCards
            legend="How content is sent"
            value={way}
            onChange={onChange}
            choices={offered.map((one) => ({ value: one, ...wayWords[one] }))}
          />
        )}
        {way !== 'compatibility' && (
          <Verification allowSimulated={allowSimulated} onAllowSimulated={onAllowSimulated} />
        )}
      </div>
    </Card>
  );
}

function Verification({ allowSimulated, onAllowSimulated }: Pick<WayCardProps, 'allowSimulated' | 'onAllowSimulated'>) {
  const { data, error, isFetching, refetch } = useQuery(gatewayVerificationQuery(ownPins.use()));
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
