import type { SignUpInvitationAnswer } from '@sotto/contract/control/operator';
import { useQuery } from '@tanstack/react-query';
import { type Answer, call } from '../../api/call.ts';
import { useForm } from '../../api/use-form.ts';
import { asking } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Resource, Rows } from '../../ui/resource.tsx';
import { Card, Loaded, Page } from '../../ui/surface.tsx';
import type { Column } from '../../ui/table.tsx';
import { Facts, Instant, Sentence } from '../../ui/text.tsx';
import { signUpQuery } from './operator-queries.ts';
import { Proof } from './proof.tsx';

type Policy = Answer<'GET /v1/operator/sign-up'>;

const modes: Readonly<Record<Policy['mode'], string>> = {
  open: 'Open: everyone',
  invited: 'Invited addresses',
  closed: 'Closed: no one',
};

/** `/operator/sign-up`: who may sign up, and the invitations. */
export function SignUpPolicyPage() {
  return (
    <Page title="Sign-up policy" lead={<Sentence text="Set it with `SIGN_UP` and `SIGN_UP_DOMAINS`." />}>
      <Loaded query={useQuery(signUpQuery)} label="The policy is loading">
        {(policy) => (
          <>
            <Card title="Policy">
              <Facts
                facts={[
                  { name: 'Who may sign up', value: modes[policy.mode] },
                  { name: 'Domains', value: policy.domains.length === 0 ? 'All' : policy.domains.join(', ') },
                ]}
              />
            </Card>
            <InvitationsCard />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function InvitationsCard() {
  const form = useForm('POST /v1/operator/invitations', {
    refreshes: signUpQuery,
    says: ({ email }) => `${email} can sign up.`,
  });
  return (
    <Resource
      query={useQuery({ ...signUpQuery, select: ({ invitations }) => invitations })}
      loading="Invitations are loading"
      page={(list) => (
        <Card title="Invitations" lead="Invite an address of any domain. It can sign up within seven days.">
          <div className="space-y-5">
            <Form form={form} action="Invite">
              <TextField {...form.text('email')} label="Email" type="email" />
            </Form>
            {list}
          </div>
          <Proof change={form.change} />
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
          actions={(invitation) => [{ label: 'Withdraw', does: withdrawing(invitation) }]}
        />
      )}
    />
  );
}

const columns: readonly Column<SignUpInvitationAnswer>[] = [
  { title: 'Email', heading: true, cell: ({ email }) => <span className="wrap-anywhere">{email}</span> },
  { title: 'Invited', cell: ({ created_at }) => <Instant at={created_at} /> },
  { title: 'Ends', cell: ({ expires_at }) => <Instant at={expires_at} /> },
];

const withdrawing = ({ id, email }: SignUpInvitationAnswer) =>
  asking({
    title: `Withdraw the invitation of ${email}?`,
    consequence: 'The address can no longer sign up by it. You can invite it again.',
    action: 'Withdraw',
    change: {
      mutationFn: () => call('DELETE /v1/operator/invitations/{id}', { params: { id } }),
      refreshes: signUpQuery,
      says: 'The invitation is withdrawn.',
    },
    proof: (change) => <Proof change={change} />,
  });
