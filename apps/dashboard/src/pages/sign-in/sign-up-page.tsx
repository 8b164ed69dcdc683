import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useRouter, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { call } from '../../api/call.ts';
import { useForm } from '../../api/use-form.ts';
import { safeReturnTo } from '../../session/return-to.ts';
import { enterSession, signInMethodsQuery } from '../../session/session.ts';
import { buttonClass, linkClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { ThreeModes } from '../../verification/privacy-path.tsx';
import { Entry } from './entry.tsx';
import { Invited } from './invited.tsx';
import { NewPasswordField } from './password-field.tsx';

export function SignUpPage() {
  const { data: methods } = useQuery(signInMethodsQuery);
  const { return_to: returnTo } = useSearch({ from: '/sign-up' });
  const client = useQueryClient();
  const router = useRouter();
  const form = useForm('POST /v1/auth/sign-up/email', {
    // Resolves to whether the user is signed in.
    send: async (given) => {
      await call('POST /v1/auth/sign-up/email', { body: given });
      if (methods?.mail === 'sent') return false;
      const { email, password } = given;
      // It fails if the address had an account before. The page then does not tell this apart from a new account.
      const isSignedIn = await call('POST /v1/auth/sign-in/email', { body: { email, password } }).then(
        () => true,
        () => false,
      );
      if (isSignedIn) {
        await enterSession(client);
        router.history.push(safeReturnTo(returnTo));
      }
      return isSignedIn;
    },
  });
  const { isSuccess, data: isSignedIn, variables } = form.change;
  if (isSuccess && !isSignedIn) {
    return <Made email={variables.email} isMailed={methods?.mail === 'sent'} />;
  }
  if (methods?.sign_up === 'closed') {
    return (
      <Entry title="Sign-up is closed" lead="The operator of this deployment creates accounts.">
        <SignInLink className={buttonClass('primary')}>Sign in</SignInLink>
      </Entry>
    );
  }
  if (methods?.password === false) {
    return (
      <Entry
        title="Create an account"
        lead={`Your account is created when you sign in with ${methods.openid?.name} for the first time.`}
      >
        <Invited returnTo={safeReturnTo(returnTo)} />
        <SignInLink className={buttonClass('primary')}>Go to sign-in</SignInLink>
      </Entry>
    );
  }
  return (
    <Entry
      title="Create an account"
      aside={<ThreeModes />}
      lead={methods?.sign_up === 'invited' ? 'Use the address that was invited.' : undefined}
    >
      <div className="mb-4 empty:hidden">
        <Invited returnTo={safeReturnTo(returnTo)} />
      </div>
      <Form form={form} action="Create account" wide>
        <TextField {...form.text('name')} label="Name" autoComplete="name" />
        <TextField {...form.text('email')} label="Email" autoComplete="email" />
        <NewPasswordField {...form.text('password')} label="Password" />
      </Form>
      <p className="mt-4 text-sm text-muted">
        Already have an account? <SignInLink className={linkClass}>Sign in</SignInLink>
      </p>
    </Entry>
  );
}

/** The same page for an address that has an account already, whose owner gets a mail about it. */
function Made({ email, isMailed }: { email: string; isMailed: boolean }) {
  if (isMailed) {
    return (
      <Entry title="Check your mail" lead="One step is left.">
        <p>
          We sent a link to <strong className="wrap-anywhere">{email}</strong>. Open it within an hour, and enter your
          password to confirm the address.
        </p>
        <p className="mt-3 text-sm text-muted">No mail? Sign in to get another link.</p>
        <SignInLink className={`${buttonClass()} mt-4`}>Sign in</SignInLink>
      </Entry>
    );
  }
  return (
    <Entry title="Sign in to go on" lead="The address has an account now.">
      <p>If it had one before, its password is still the old one.</p>
      <SignInLink className={`${buttonClass('primary')} mt-4`}>Sign in</SignInLink>
    </Entry>
  );
}

/** Keeps the page to return to after the sign-in. */
function SignInLink({ className, children }: { className: string; children: ReactNode }) {
  const { return_to: returnTo } = useSearch({ from: '/sign-up' });
  return (
    <Link to="/sign-in" search={{ return_to: safeReturnTo(returnTo) }} className={className}>
      {children}
    </Link>
  );
}
