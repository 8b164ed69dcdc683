import { type WorkspaceRole, workspaceRoles } from '@sotto/contract/control/workspace-role';
import type { WorkspaceAnswer, WorkspaceInvitationAnswer } from '@sotto/contract/control/workspaces';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Answer, call, callAll } from '../../api/call.ts';
import { errorAt } from '../../api/errors.ts';
import { controlOrigin } from '../../api/origins.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/change-form.tsx';
import { CopyLine } from '../../ui/copy.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Card, Loaded, Notice } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Instant } from '../../ui/text.tsx';
import { useAnnounceError } from '../../ui/toasts.tsx';
import { givenRoles, roleWords } from './role-words.ts';

const invitationsQuery = (id: string) =>
  queryOptions({
    queryKey: ['workspaces', id, 'invitations'],
    queryFn: ({ signal }) => callAll('GET /v1/workspaces/{id}/invitations', { params: { id }, signal }),
  });

/** Invites people, and lists the invitations without an answer. */
export function InvitationsCard({ workspace }: { workspace: WorkspaceAnswer }) {
  return (
    <Card
      title="Invitations"
      lead="Invite people by address. An invitation works once, within seven days, for the account with that address."
    >
      <div className="space-y-5">
        <InviteForm workspace={workspace} />
        <Loaded query={useQuery(invitationsQuery(workspace.id))} label="Invitations are loading" lines={2}>
          {(invitations) =>
            invitations.length === 0 ? (
              <p className="text-sm text-muted">No open invitations.</p>
            ) : (
              <Waiting workspace={workspace} invitations={invitations} />
            )
          }
        </Loaded>
      </div>
    </Card>
  );
}

/** A user cannot give a role above their own. `owner` offers the workspace itself, except the default one. */
const offeredRoles = ({ role, is_default }: WorkspaceAnswer): readonly WorkspaceRole[] =>
  role === 'owner' && !is_default ? workspaceRoles : givenRoles;

function InviteForm({ workspace }: { workspace: WorkspaceAnswer }) {
  const [role, setRole] = useState<WorkspaceRole>('member');
  const inviting = useChange({
    mutationFn: (email: string) =>
      call('POST /v1/workspaces/{id}/invitations', { params: { id: workspace.id }, body: { email, role } }),
    refreshes: invitationsQuery(workspace.id),
  });
  return (
    <>
      <Form
        change={inviting}
        errors={['email']}
        action="Invite"
        onSubmit={(field, form) => inviting.mutate(field('email'), { onSuccess: () => form.reset() })}
      >
        <div className="grid items-start gap-4 sm:grid-cols-[minmax(0,1fr)_12rem]">
          <TextField
            label="Email"
            name="email"
            type="email"
            required
            autoComplete="off"
            error={errorAt(inviting.error, 'email')}
          />
          <SelectField
            label="Role"
            value={role}
            onChange={setRole}
            choices={offeredRoles(workspace).map((one) => ({ value: one, label: roleWords[one].name }))}
          />
        </div>
        <p className="text-sm text-muted">
          {role === 'owner'
            ? 'Offers the workspace to a member. If they accept, their balance pays, you become an admin, and all its keys are revoked.'
            : roleWords[role].text}
        </p>
      </Form>
      {inviting.isSuccess && <Invited invitation={inviting.data} />}
    </>
  );
}

/** The token is in the fragment, which browsers do not send to any server. */
const linkOf = (token: string): string => `${controlOrigin}/invitations#token=${encodeURIComponent(token)}`;

function Invited({ invitation }: { invitation: Answer<'POST /v1/workspaces/{id}/invitations'> }) {
  const link = linkOf(invitation.token);
  return (
    <Notice tone="good">
      <p className="mb-2">
        {invitation.email} is invited as {roleWords[invitation.role].name.toLowerCase()}. If this deployment sends no
        mail, send the link yourself. It is shown only now, and works only for that address.
      </p>
      <CopyLine text={link} label="Copy link" testId="invitation-link" />
    </Notice>
  );
}

interface WaitingProps {
  readonly workspace: WorkspaceAnswer;
  readonly invitations: readonly WorkspaceInvitationAnswer[];
}

function Waiting({ workspace, invitations }: WaitingProps) {
  const client = useQueryClient();
  const withdrawing = useChange({
    mutationFn: (invitationId: string) =>
      call('DELETE /v1/workspaces/{id}/invitations/{invitationId}', { params: { id: workspace.id, invitationId } }),
    onSettled: () => client.invalidateQueries({ queryKey: invitationsQuery(workspace.id).queryKey }),
    onError: useAnnounceError(),
  });
  const columns: readonly Column<WorkspaceInvitationAnswer>[] = [
    { title: 'Email', heading: true, cell: ({ email }) => <span className="wrap-anywhere">{email}</span> },
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
  return <Table caption="Open invitations" columns={columns} rows={invitations} rowKey={({ id }) => id} />;
}
