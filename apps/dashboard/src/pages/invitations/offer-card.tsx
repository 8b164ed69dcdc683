import type { InvitationOfferAnswer } from '@sotto/wire';
import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { forgetLinkToken } from '../../session/link-token.ts';
import { Button } from '../../ui/button.tsx';
import { Instant } from '../../ui/instant.tsx';
import { Card, Notice } from '../../ui/surface.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { useWorkspace, workspacesQuery } from '../../workspaces/workspaces.ts';
import { roleWords } from '../workspaces/role-words.ts';
import { type Answered, acceptInvitation, declineInvitation } from './invitation-queries.ts';

export interface OfferCardProps {
  readonly offer: InvitationOfferAnswer;
  readonly invitation: Answered;
}

/** One invitation, to be accepted or declined. */
export function OfferCard({ offer, invitation }: OfferCardProps) {
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
    onSuccess: async ({ id, name }) => {
      await client.invalidateQueries({ queryKey: workspacesQuery.queryKey, exact: true });
      choose(id);
      announce({ text: `You are in ${name}.` });
      await router.navigate({ to: '/workspaces/$workspaceId', params: { workspaceId: id } });
      await answered();
    },
  });
  const declining = useChange({
    mutationFn: () => declineInvitation(invitation),
    onSuccess: async () => {
      await answered();
      announce({ text: `The invitation to ${offer.workspace} is declined.` });
      await router.invalidate();
    },
  });
  const failure = accepting.error ?? declining.error;
  return (
    <Card
      title={offer.workspace}
      lead={`${offer.invited_by ?? 'Somebody'} invites you as ${roleWords[offer.role].name.toLowerCase()}.`}
    >
      <div className="space-y-4">
        {offer.role === 'owner' ? (
          <Notice tone="warn">
            If you accept, your balance pays for what it uses from then on. Its keys are revoked, and the owner of now
            becomes an admin.
          </Notice>
        ) : (
          <p>{roleWords[offer.role].text}</p>
        )}
        <p className="text-sm text-muted">
          It ends <Instant at={offer.expires_at} />.
        </p>
        {failure !== null && (
          <p role="alert" className="text-danger">
            {sentenceOf(failure)}
          </p>
        )}
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
