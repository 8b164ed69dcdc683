import type { WorkspaceAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { balanceQuery } from '../api/balance.ts';
import { Notice } from '../ui/surface.tsx';

/**
 * Says where requests begin that the balance is used up, before they are refused for it. Only to the owner, whose balance
 * pays: what others of the workspace have themselves says nothing.
 */
export function EmptyBalanceNotice({ workspace }: { workspace: WorkspaceAnswer | undefined }) {
  const { data: balance } = useQuery(balanceQuery);
  if (workspace?.role !== 'owner' || balance === undefined || balance.available > 0) return null;
  return (
    <Notice tone="warn">
      Your balance is empty, and requests are prepaid: they are refused until you{' '}
      <Link to="/billing" className="text-accent underline underline-offset-2">
        top up
      </Link>
      .
    </Notice>
  );
}
