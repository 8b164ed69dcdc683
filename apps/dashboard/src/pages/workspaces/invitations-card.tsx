import { type WorkspaceRole, workspaceRoles } from '@sotto/contract/control/workspace-role';
import type { WorkspaceAnswer, WorkspaceInvitationAnswer } from '@sotto/contract/control/workspaces';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { type Answer, call, callAll } from '../../api/call.ts';
import { controlOrigin } from '../../api/origins.ts';
import { useForm } from '../../api/use-form.ts';
import { CopyLine } from '../../ui/copy.tsx';
import { asking } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Resource, Rows } from '../../ui/resource.tsx';
import { Card, Notice } from '../../ui/surface.tsx';
import type { Column } from '../../ui/table.tsx';
import { Instant } from '../../ui/text.tsx';
import { InviteMany } from './invite-many.tsx';
import { givenRoles, roleWords } from './role-words.ts';

const invitationsQuery = (id: string) =>
  queryOptions({
    queryKey: ['workspaces', id, 'invitations'],
    queryFn: ({ signal }) => callAll('GET /v1/workspaces/{id}/invitations', { params: { id }, signal }),
  });

/** Invites people, and lists the invitations without an answer. */
export function InvitationsCard({ workspace }: { workspace: WorkspaceAnswer }) {
  return (
    <Resource
      query={useQuery(invitationsQuery(workspace.id))}
      loading="Invitations are loading"
      lines={2}
      page={(list) => (
        <Card
          title="Invitations"
          lead="Invite people by address. An invitation works once, within seven days, for the account with that address."
        >
          <div className="space-y-5">
            <InviteForm workspace={workspace} />
            <InviteMany workspace={workspace} linkOf={linkOf} refreshes={invitationsQuery(workspace.id)} />
            {list}
          </div>
        </Card>
      )}
      empty="No open invitations."
      rows={(invitations) => (
        <Rows
          caption="Open invitations"
          columns={columns}
          rows={invitations}
          rowKey={({ id }) => id}
          nameOf={({ email }) => `the invitation of ${email}`}
          actions={(invitation) => [{ label: 'Withdraw', does: withdrawing(workspace, invitation) }]}
        />
      )}
    />
  );
}

const columns: readonly Column<WorkspaceInvitationAnswer>[] = [
  { title: 'Email', heading: true, cell: ({ email }) => <span className="wrap-anywhere">{email}</span> },
  { title: 'Role', cell: ({ role }) => roleWords[role].name },
  { title: 'Invited', cell: ({ created_at }) => <Instant at={created_at} /> },
  { title: 'Ends', cell: ({ expires_at }) => <Instant at={expires_at} /> },
];

const withdrawing = ({ id }: WorkspaceAnswer, { id: invitationId, email }: WorkspaceInvitationAnswer) =>
  asking({
    title: `Withdraw the invitation of ${email}?`,
    consequence: 'Its link stops working. You can invite the address again.',
    action: 'Withdraw',
    change: {
      mutationFn: () => call('DELETE /v1/workspaces/{id}/invitations/{invitationId}', { params: { id, invitationId } }),
      refreshes: invitationsQuery(id),
    },
  });

/** A user cannot give a role above their own. `owner` offers the workspace itself, except the default one. */
const offeredRoles = ({ role, is_default }: WorkspaceAnswer): readonly WorkspaceRole[] =>
  role === 'owner' && !is_default ? workspaceRoles : givenRoles;

function InviteForm({ workspace }: { workspace: WorkspaceAnswer }) {
  const form = useForm('POST /v1/workspaces/{id}/invitations', {
    params: { id: workspace.id },
    start: { role: 'member' },
    refreshes: invitationsQuery(workspace.id),
    clears: ['email'],
  });
  const role = form.choice('role');
  return (
    <>
      <Form form={form} action="Invite">
        <div className="grid items-start gap-4 sm:grid-cols-[minmax(0,1fr)_12rem]">
          <TextField {...form.text('email')} label="Email" type="email" />
          <SelectField
            {...role}
            label="Role"
            choices={offeredRoles(workspace).map((one) => ({ value: one, label: roleWords[one].name }))}
          />
        </div>
        <p className="text-sm text-muted">
          {role.value === 'owner'
            ? 'Offers the workspace to a member. If they accept, their balance pays, you become an admin, and all its keys are revoked.'
            : roleWords[role.value].text}
        </p>
      </Form>
      {form.change.isSuccess && <Invited invitation={form.change.data} />}
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
