import { useQuery } from '@tanstack/react-query';
import { useForm } from '../../api/use-form.ts';
import { type SignedInUser, sessionQuery, signInMethodsQuery, useSignedIn } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, Notice, Page } from '../../ui/surface.tsx';
import { MailAgain } from '../sign-in/entry.tsx';
import { CurrentPasswordField } from '../sign-in/password-field.tsx';
import { hasPasswordQuery } from './account-queries.ts';
import { DeleteAccountCard } from './delete-account-card.tsx';
import { PasskeysCard } from './passkeys-card.tsx';
import { PasswordCard } from './password-card.tsx';
import { SecondFactorCard } from './second-factor-card.tsx';
import { SessionsCard } from './sessions-card.tsx';

/** `/account`: the user's name and address, and the ways to sign in. */
export function AccountPage() {
  const user = useSignedIn();
  const { data: methods } = useQuery(signInMethodsQuery);
  if (!user) return null;
  return (
    <Page title="Account and security" lead="Your name, your address and your ways to sign in.">
      <div className="grid items-start gap-6 xl:grid-cols-2">
        <div className="min-w-0 space-y-6">
          <NameCard user={user} />
          <EmailCard user={user} />
        </div>
        <div className="min-w-0 space-y-6">
          {methods?.password === false ? (
            <ProviderCard provider={methods.openid?.name} />
          ) : (
            <>
              <PasswordCard />
              <SecondFactorCard user={user} />
            </>
          )}
          <PasskeysCard user={user} signsIn={methods?.passkey !== false} />
        </div>
      </div>
      <SessionsCard />
      <DeleteAccountCard user={user} />
    </Page>
  );
}

function ProviderCard({ provider }: { provider: string | undefined }) {
  return (
    <Card title="Sign-in">
      <p>You sign in with {provider}. This deployment takes no passwords.</p>
    </Card>
  );
}

function NameCard({ user: { name } }: { user: SignedInUser }) {
  const form = useForm('POST /v1/auth/update-user', {
    start: { name },
    refreshes: sessionQuery,
    says: 'Your name is saved.',
  });
  return (
    <Card title="Name">
      <Form form={form} action="Save name" look="plain">
        <TextField {...form.text('name', { every: true })} label="Your name" autoComplete="name" />
      </Form>
    </Card>
  );
}

/** Shows whether the address is confirmed, and changes it. */
function EmailCard({ user }: { user: SignedInUser }) {
  const { data: methods } = useQuery(signInMethodsQuery);
  const hasMail = methods !== undefined && methods.mail !== 'none';
  return (
    <Card title="Email">
      <div className="space-y-4">
        <p className="flex flex-wrap items-center gap-2">
          <span className="wrap-anywhere">{user.email}</span>
          {user.emailVerified ? <Badge tone="good">Confirmed</Badge> : <Badge tone="warn">Not confirmed</Badge>}
        </p>
        {!user.emailVerified && hasMail && <Unconfirmed email={user.email} />}
        {methods?.mail === 'none' && (
          <p className="text-sm text-muted">
            This deployment sends no mail, so you cannot confirm or change your address.
          </p>
        )}
        {hasMail && <ChangeForm />}
      </div>
    </Card>
  );
}

function Unconfirmed({ email }: { email: string }) {
  return (
    <Notice tone="warn">
      <p>Confirm it to use passkeys, an authenticator app and invitations.</p>
      <MailAgain email={email} action="Send link" />
    </Notice>
  );
}

function ChangeForm() {
  const { data: hasPassword } = useQuery(hasPasswordQuery);
  const form = useForm('POST /v1/auth/change-email', { clears: ['newEmail', 'password'] });
  return (
    <Form form={form} action="Change address" look="plain">
      <TextField {...form.text('newEmail')} label="New address" autoComplete="email" />
      {hasPassword === true && <CurrentPasswordField {...form.text('password')} label="Your password" />}
      {form.change.isSuccess && (
        <Notice tone="good">
          We sent a link to <span className="wrap-anywhere">{form.change.variables.newEmail}</span>. The address changes
          when you follow it.
        </Notice>
      )}
    </Form>
  );
}
