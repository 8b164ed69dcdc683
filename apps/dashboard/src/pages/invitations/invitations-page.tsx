import type { InvitationOfferAnswer } from '@sotto/contract/control/invitations';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { afterRevoking } from '../../api/keys.ts';
import { useChange } from '../../api/use-change.ts';
import { forgetLinkToken, linkToken } from '../../session/link-token.ts';
import { useSignedIn } from '../../session/session.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Resource } from '../../ui/resource.tsx';
import { Card, ErrorLine, Loaded, Notice, Page } from '../../ui/surface.tsx';
import { Instant } from '../../ui/text.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { otherOwnerOf, useWorkspace } from '../../workspaces/workspaces.tsx';
import { roleWords } from '../workspaces/role-words.ts';
import {
  type Answered,
  acceptInvitation,
  declineInvitation,
  offerQuery,
  waitingInvitationsQuery,
} from './invitation-queries.ts';

/** `/invitations`: the invitation whose link led here, or all invitations to the user's address. */
export function InvitationsPage() {
  const user = useSignedIn();
  const [token, setToken] = useState(() => linkToken('invitations'));
  return (
    <Page title="Invitations" lead={`Invitations to other people’s workspaces, for ${user?.email ?? 'you'}.`}>
      {token !== null && <ByLink token={token} onDeclined={() => setToken(null)} />}
      {token === null && user?.emailVerified === false && (
        <Notice tone="warn">
          <p>Confirm your address to see your invitations here. The link of an invitation works without that.</p>
          <Link to="/account" className={`${buttonClass('plain', true)} mt-2`}>
            Confirm it
          </Link>
        </Notice>
      )}
      {token === null && user?.emailVerified === true && <Waiting />}
    </Page>
  );
}

function ByLink({ token, onDeclined }: { token: string; onDeclined: () => void }) {
  return (
    <Loaded query={useQuery(offerQuery(token))} label="The invitation is loading">
      {(offer) => <OfferCard offer={offer} invitation={{ token }} onDeclined={onDeclined} />}
    </Loaded>
  );
}

function Waiting() {
  return (
    <Resource
      query={useQuery(waitingInvitationsQuery)}
      loading="Invitations are loading"
      empty={{
        title: 'No invitations',
        text: 'Invitations to your address appear here.',
        action: (
          <Link to="/workspaces" className={buttonClass()}>
            Your workspaces
          </Link>
        ),
      }}
      rows={(invitations) => (
        <div className="grid gap-6 lg:grid-cols-2">
          {invitations.map(({ id, ...offer }) => (
            <OfferCard key={id} offer={offer} invitation={{ id }} />
          ))}
        </div>
      )}
    />
  );
}

interface OfferCardProps {
  readonly offer: InvitationOfferAnswer;
  readonly invitation: Answered;
  /** Of the invitation of a link, which no list forgets. */
  readonly onDeclined?: () => void;
}

/** One invitation, to be accepted or declined. */
function OfferCard({ offer, invitation, onDeclined }: OfferCardProps) {
  const client = useQueryClient();
  const router = useRouter();
  const announce = useAnnounce();
  const { choose } = useWorkspace();
  const answered = async (): Promise<void> => {
    if ('token' in invitation) forgetLinkToken('invitations');
    await client.invalidateQueries({ queryKey: ['invitations'] });
  };
  const accepting = useChange({
    mutationFn: () => acceptInvitation(invitation),
    // A new owner begins without keys.
    refreshes: afterRevoking,
    onSuccess: async (joined) => {
      const { id, name } = joined;
      const owner = otherOwnerOf(joined);
      choose(id);
      announce({ text: `You have joined ${name}${owner === undefined ? '' : ` of ${owner}`}.` });
      await router.navigate({ to: '/workspaces/$workspaceId', params: { workspaceId: id } });
      await answered();
    },
  });
  const declining = useChange({
    mutationFn: () => declineInvitation(invitation),
    onSuccess: async () => {
      onDeclined?.();
      await answered();
      announce({ text: `You declined the invitation to ${offer.workspace}.` });
    },
  });
  return (
    <Card
      title={offer.workspace}
      lead={`${offer.invited_by ?? 'A former member'} invites you as ${roleWords[offer.role].name.toLowerCase()}.`}
    >
      <div className="space-y-4">
        {offer.role === 'owner' ? (
          <Notice tone="warn">
            If you accept, your balance pays for its usage from then on. Its keys are revoked, and the current owner
            becomes an admin.
          </Notice>
        ) : (
          <p>{roleWords[offer.role].text}</p>
        )}
        <p className="text-sm text-muted">
          It ends <Instant at={offer.expires_at} />.
        </p>
        <ErrorLine error={accepting.error ?? declining.error} />
        <div className="flex flex-wrap gap-2">
          <Button
            look="primary"
            busy={accepting.isPending}
            disabled={declining.isPending}
            onClick={() => accepting.mutate()}
          >
            Accept<span className="sr-only"> the invitation to {offer.workspace}</span>
          </Button>
          <Button busy={declining.isPending} disabled={accepting.isPending} onClick={() => declining.mutate()}>
            Decline<span className="sr-only"> the invitation to {offer.workspace}</span>
          </Button>
        </div>
      </div>
    </Card>
  );
}
