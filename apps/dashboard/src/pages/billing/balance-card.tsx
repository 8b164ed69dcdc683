import { useQuery } from '@tanstack/react-query';
import { balanceQuery } from '../../api/balance.ts';
import { formatUsd } from '../../format/money.ts';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, ErrorState } from '../../ui/surface.tsx';

/** What can be spent now, and what is set aside for requests that run. */
export function BalanceCard() {
  const { data: balance, error, refetch } = useQuery(balanceQuery);
  if (error !== null && balance === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (balance === undefined) return <Loading label="The balance is loading" lines={2} />;
  return (
    <Card title="Balance" lead="Prepaid, and used up by requests. It pays for every key of the workspaces you own.">
      <dl className="flex flex-wrap gap-x-10 gap-y-3">
        <div>
          <dt className="text-sm text-muted">To spend now</dt>
          <dd className="text-3xl font-semibold tabular-nums" data-testid="available">
            {formatUsd(balance.available)}
          </dd>
        </div>
        <div>
          <dt className="text-sm text-muted">Set aside for requests that run</dt>
          <dd className="text-3xl text-muted tabular-nums">{formatUsd(balance.reserved)}</dd>
        </div>
      </dl>
      {balance.available <= 0 && <p className="mt-3 text-warn">It is empty: requests are refused until you top up.</p>}
    </Card>
  );
}
