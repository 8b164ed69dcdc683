import type { SignUpInvitationAnswer } from '@sotto/contract/control/operator';
import { useQuery } from '@tanstack/react-query';
import { type Answer, call } from '../../api/call.ts';
import { errorAt } from '../../api/errors.ts';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/change-form.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card, ErrorLine, Loaded, Notice, Page } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Facts, Instant, Sentence } from '../../ui/text.tsx';
import { signUpQuery } from './operator-queries.ts';
import { useAct } from './use-act.tsx';

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
              <div className="space-y-4">
                {policy.is_inherited && (
                  <Notice tone="warn">
                    <Sentence text="`SIGN_UP` is not set. Sign-up is open, because this deployment had users before `SIGN_UP` existed. Set it." />
                  </Notice>
                )}
                <Facts
                  facts={[
                    { name: 'Who may sign up', value: modes[policy.mode] },
                    { name: 'Domains', value: policy.domains.length === 0 ? 'All' : policy.domains.join(', ') },
                  ]}
                />
              </div>
            </Card>
            <InvitationsCard invitations={policy.invitations} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function InvitationsCard({ invitations }: { invitations: readonly SignUpInvitationAnswer[] }) {
  const inviting = useAct({
    mutationFn: (email: string) => call('POST /v1/operator/invitations', { body: { email } }),
    refreshes: signUpQuery,
    says: ({ email }) => `${email} can sign up.`,
  });
  const withdrawing = useAct({
    mutationFn: (id: string) => call('DELETE /v1/operator/invitations/{id}', { params: { id } }),
    refreshes: signUpQuery,
    says: 'The invitation is withdrawn.',
  });
  const columns: readonly Column<SignUpInvitationAnswer>[] = [
    { title: 'Email', heading: true, cell: ({ email }) => <span className="wrap-anywhere">{email}</span> },
    { title: 'Invited', cell: ({ created_at }) => <Instant at={created_at} /> },
    { title: 'Ends', cell: ({ expires_at }) => <Instant at={expires_at} /> },
    {
      title: 'Withdraw',
      hiddenTitle: true,
      numeric: true,
      cell: ({ id, email }) => (
        <Button small onClick={() => withdrawing.act.mutate(id)}>
          Withdraw<span className="sr-only"> the invitation of {email}</span>
        </Button>
      ),
    },
  ];
  return (
    <Card title="Invitations" lead="Invite an address of any domain. It can sign up within seven days.">
      <div className="space-y-5">
        <Form
          change={inviting.act}
          errors={['email']}
          action="Invite"
          onSubmit={(field) => inviting.act.mutate(field('email'))}
        >
          <TextField
            label="Email"
            name="email"
            type="email"
            required
            autoComplete="off"
            error={errorAt(inviting.act.error, 'email')}
          />
        </Form>
        <ErrorLine error={withdrawing.act.error} className="text-sm" />
        {invitations.length === 0 ? (
          <p className="text-sm text-muted">No open invitations.</p>
        ) : (
          <Table caption="Open invitations" columns={columns} rows={invitations} rowKey={({ id }) => id} />
        )}
      </div>
      {inviting.proof}
      {withdrawing.proof}
    </Card>
  );
}
