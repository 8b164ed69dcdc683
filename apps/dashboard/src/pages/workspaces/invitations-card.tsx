import { type WorkspaceAnswer, type WorkspaceInvitationAnswer, type WorkspaceRole, workspaceRoles } from '@sotto/wire';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, sentenceOf } from '../../api/call.ts';
import { controlOrigin } from '../../api/origins.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Instant } from '../../ui/instant.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, ErrorState, Notice } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { givenRoles, roleWords } from './role-words.ts';
import { invitationsQuery, inviteAddress, withdrawInvitation } from './workspace-queries.ts';

/** Who was invited and has not answered; and inviting. */
export function InvitationsCard({ workspace }: { workspace: WorkspaceAnswer }) {
  const { data: invitations, error, refetch } = useQuery(invitationsQuery(workspace.id));
  return (
    <Card
      title="Invitations"
      lead="By address: good for seven days, once, and for whoever is signed in with that address."
    >
      <div className="space-y-5">
        <InviteForm workspace={workspace} />
        {invitations === undefined && error === null && <Loading label="Invitations are loading" lines={2} />}
        {invitations === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
        {invitations !== undefined && invitations.length === 0 && (
          <p className="text-sm text-muted">No invitation waits for an answer.</p>
        )}
        {invitations !== undefined && invitations.length > 0 && (
          <Waiting workspace={workspace} invitations={invitations} />
        )}
      </div>
    </Card>
  );
}

/** Nobody gives a role above their own; `owner` offers the workspace itself, and the default one stays. */
const offeredRoles = ({ role, is_default }: WorkspaceAnswer): readonly WorkspaceRole[] =>
  role === 'owner' && !is_default ? workspaceRoles : givenRoles;

function InviteForm({ workspace }: { workspace: WorkspaceAnswer }) {
  const [role, setRole] = useState<WorkspaceRole>('member');
  const client = useQueryClient();
  const inviting = useChange({
    mutationFn: (email: string) => inviteAddress(workspace.id, { email, role }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['workspaces', workspace.id, 'invitations'] }),
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    inviting.mutate(String(new FormData(form).get('email')), { onSuccess: () => form.reset() });
  };
  const refusal =
    inviting.error instanceof ApiError && inviting.error.param === 'email' ? inviting.error.message : undefined;
  return (
    <form onSubmit={submit} className="space-y-4">
      <div className="grid items-start gap-4 sm:grid-cols-[minmax(0,1fr)_12rem]">
        <TextField label="Email" name="email" type="email" required autoComplete="off" error={refusal} />
        <SelectField
          label="Role"
          value={role}
          onChange={setRole}
          choices={offeredRoles(workspace).map((one) => ({ value: one, label: roleWords[one].name }))}
        />
      </div>
      <p className="text-sm text-muted">
        {role === 'owner'
          ? 'Offers the workspace itself to a member: when they accept, their balance pays, you become an admin, and every key of it is revoked.'
          : roleWords[role].text}
      </p>
      {inviting.isError && refusal === undefined && (
        <p role="alert" className="text-danger">
          {sentenceOf(inviting.error)}
        </p>
      )}
      <Button type="submit" look="primary" busy={inviting.isPending}>
        Invite
      </Button>
      {inviting.isSuccess && <Invited invitation={inviting.data} />}
    </form>
  );
}

/** The token travels in the fragment, which no server is sent. */
const linkOf = (token: string): string => `${controlOrigin}/invitations#token=${encodeURIComponent(token)}`;

function Invited({ invitation }: { invitation: WorkspaceInvitationAnswer & { readonly token: string } }) {
  const link = linkOf(invitation.token);
  return (
    <Notice tone="good">
      <p className="mb-2">
        {invitation.email} is invited as {roleWords[invitation.role].name.toLowerCase()}. Where no mail is sent, hand
        over this link yourself: it is shown this once, and opens nothing for another address.
      </p>
      <div className="flex flex-wrap items-center gap-2">
        <code data-testid="invitation-link" className="min-w-0 font-mono text-sm break-all">
          {link}
        </code>
        <CopyButton text={link} label="Copy link" />
      </div>
    </Notice>
  );
}

interface WaitingProps {
  readonly workspace: WorkspaceAnswer;
  readonly invitations: readonly WorkspaceInvitationAnswer[];
}

function Waiting({ workspace, invitations }: WaitingProps) {
  const client = useQueryClient();
  const announce = useAnnounce();
  const withdrawing = useChange({
    mutationFn: (invitationId: string) => withdrawInvitation(workspace.id, invitationId),
    onSettled: () => client.invalidateQueries({ queryKey: ['workspaces', workspace.id, 'invitations'] }),
    onError: (error) => announce({ tone: 'danger', text: sentenceOf(error) }),
  });
  const columns: readonly Column<WorkspaceInvitationAnswer>[] = [
    { title: 'Email', heading: true, cell: ({ email }) => <span className="break-all">{email}</span> },
    { title: 'Role', cell: ({ role }) => roleWords[role].name },
    { title: 'Invited', cell: ({ created_at }) => <Instant at={created_at} /> },
    { title: 'Ends', cell: ({ expires_at }) => <Instant at={expires_at} /> },
    {
      title: 'Withdraw',
      hiddenTitle: true,
      numeric: true,
      cell: ({ id, email }) => (
        <Button
          small
          busy={withdrawing.isPending && withdrawing.variables === id}
          onClick={() => withdrawing.mutate(id)}
        >
          Withdraw<span className="sr-only"> the invitation of {email}</span>
        </Button>
      ),
    },
  ];
  return <Table caption="Invitations that wait" columns={columns} rows={invitations} rowKey={({ id }) => id} />;
}
