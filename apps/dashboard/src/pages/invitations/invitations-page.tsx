import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { linkToken } from '../../session/link-token.ts';
import { useSignedIn } from '../../session/session.ts';
import { buttonClass } from '../../ui/button.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { EmptyState, ErrorState, Notice, Page } from '../../ui/surface.tsx';
import { offerQuery, waitingInvitationsQuery } from './invitation-queries.ts';
import { OfferCard } from './offer-card.tsx';

/** `/invitations`: the one whose link led here, and those that wait for the address of whoever is signed in. */
export function InvitationsPage() {
  const user = useSignedIn();
  const token = linkToken('invitations');
  return (
    <Page title="Invitations" lead={`To workspaces of others, for ${user?.email ?? 'you'}.`}>
      {token !== null && <ByLink token={token} />}
      {token === null && user?.emailVerified === false && (
        <Notice tone="warn">
          <p>
            Invitations are shown to whoever has confirmed their address. The link of an invitation opens without that.
          </p>
          <Link to="/account" className={`${buttonClass('plain', true)} mt-2`}>
            Confirm it
          </Link>
        </Notice>
      )}
      {token === null && user?.emailVerified === true && <Waiting />}
    </Page>
  );
}

function ByLink({ token }: { token: string }) {
  const { data: offer, error, refetch } = useQuery(offerQuery(token));
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (offer === undefined) return <Loading label="The invitation is loading" />;
  return <OfferCard offer={offer} invitation={{ token }} />;
}

function Waiting() {
  const { data: invitations, error, refetch } = useQuery(waitingInvitationsQuery);
  if (invitations === undefined && error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (invitations === undefined) return <Loading label="Invitations are loading" />;
  if (invitations.length === 0) {
    return (
      <EmptyState
        title="No invitation waits"
        text="When somebody invites your address to a workspace, it is shown here."
        action={
          <Link to="/workspaces" className={buttonClass()}>
            Your workspaces
          </Link>
        }
      />
    );
  }
  return (
    <div className="grid gap-6 lg:grid-cols-2">
      {invitations.map(({ id, ...offer }) => (
        <OfferCard key={id} offer={offer} invitation={{ id }} />
      ))}
    </div>
  );
}
