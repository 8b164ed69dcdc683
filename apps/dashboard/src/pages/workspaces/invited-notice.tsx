import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useSignedIn } from '../../session/session.ts';
import { Notice } from '../../ui/surface.tsx';
import { waitingInvitationsQuery } from '../invitations/invitation-queries.ts';

/** Tells of invitations that wait; of none, nothing. */
export function InvitedNotice() {
  const isVerified = useSignedIn()?.emailVerified === true;
  const { data: invitations = [] } = useQuery({ ...waitingInvitationsQuery, enabled: isVerified });
  if (invitations.length === 0) return null;
  return (
    <Notice>
      {invitations.length === 1 ? 'An invitation waits' : `${invitations.length} invitations wait`} for you.{' '}
      <Link to="/invitations" className="font-medium text-accent underline underline-offset-2">
        Look at {invitations.length === 1 ? 'it' : 'them'}
      </Link>
    </Notice>
  );
}
