import { useSignedIn } from '../../session/session.ts';
import { Page } from '../../ui/surface.tsx';
import { EmailCard } from './email-card.tsx';
import { NameCard } from './name-card.tsx';
import { PasskeysCard } from './passkeys-card.tsx';
import { PasswordCard } from './password-card.tsx';
import { SecondFactorCard } from './second-factor-card.tsx';
import { SessionsCard } from './sessions-card.tsx';

/** `/account`: who one is here, and what opens the account. */
export function AccountPage() {
  const user = useSignedIn();
  if (!user) return null;
  return (
    <Page title="Account and security" lead="Who you are here, and what opens your account.">
      <div className="grid items-start gap-6 xl:grid-cols-2">
        <div className="min-w-0 space-y-6">
          <NameCard user={user} />
          <EmailCard user={user} />
        </div>
        <div className="min-w-0 space-y-6">
          <PasswordCard user={user} />
          <SecondFactorCard user={user} />
          <PasskeysCard user={user} />
        </div>
      </div>
      <SessionsCard />
    </Page>
  );
}
