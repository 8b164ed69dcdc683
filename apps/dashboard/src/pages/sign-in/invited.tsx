import { useQuery } from '@tanstack/react-query';
import { ApiError } from '../../api/errors.ts';
import { linkToken } from '../../session/link-token.ts';
import { ErrorState, Notice } from '../../ui/surface.tsx';
import { previewQuery } from '../invitations/invitation-queries.ts';

/** Tells a person who followed the link of an invitation what they will join. Nothing if they came another way. */
export function Invited({ returnTo }: { returnTo: string }) {
  const token = returnTo.startsWith('/invitations') ? linkToken('invitations') : null;
  return token === null ? null : <ByToken token={token} />;
}

function ByToken({ token }: { token: string }) {
  const { data: invitation, error, refetch } = useQuery(previewQuery(token));
  if (error instanceof ApiError && error.status === 404) {
    return <Notice tone="warn">This invitation was used or withdrawn, or has ended.</Notice>;
  }
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (invitation === undefined) return null;
  return (
    <Notice>
      <strong className="break-words">{invitation.invited_by ?? 'The owner'}</strong> invites you to{' '}
      <strong className="break-words">{invitation.workspace}</strong>. Use the address that the invitation was sent to.
    </Notice>
  );
}
