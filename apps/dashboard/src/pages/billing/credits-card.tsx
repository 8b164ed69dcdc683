import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/call.ts';
import { needsNewSignIn } from '../../api/errors.ts';
import { capabilitiesQuery } from '../../api/queries.ts';
import { useChange } from '../../api/use-change.ts';
import { formatMinute } from '../../format/format.ts';
import { Button } from '../../ui/button.tsx';
import { CopyLine } from '../../ui/copy.tsx';
import { Card, ErrorLine } from '../../ui/surface.tsx';
import { SignInFirst } from '../sign-in/entry.tsx';

/** Makes a code with which `sotto purse buy` withdraws credits. Nothing else of anonymous wallets is on this page. */
export function CreditsCard() {
  const { data: capabilities } = useQuery(capabilitiesQuery);
  const making = useChange({
    mutationFn: () => call('POST /v1/credits/codes'),
    // The code is money. It is forgotten with the page.
    gcTime: 0,
  });
  if (capabilities?.anonymous_wallets.enabled !== true) return null;
  return (
    <Card
      title="Anonymous credits"
      lead="Turn $5 that you paid by crypto into 50 credits. They pay for wallets that no account is linked to, not even for the operator."
    >
      <p className="mb-3 text-sm text-muted">
        This page comes from the operator, so it cannot do it for you. The command <code>sotto purse buy</code> makes
        the credits on your machine and asks for a code. Give the code to nobody: who has it has your $5.
      </p>
      {making.data === undefined ? (
        <Button busy={making.isPending} onClick={() => making.mutate()}>
          Create a code
        </Button>
      ) : (
        <div className="space-y-2" role="status">
          <CopyLine text={making.data.code} label="Copy the code" testId="credit-code" />
          <p className="text-sm text-muted">
            It works once, until {formatMinute(making.data.expires_at)}. Then take it to <code>sotto purse buy</code>.
          </p>
        </div>
      )}
      {needsNewSignIn(making.error) ? (
        <SignInFirst goal="create the code" returnTo="/billing" />
      ) : (
        <ErrorLine error={making.error} />
      )}
    </Card>
  );
}
