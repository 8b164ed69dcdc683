import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { needsNewSignIn } from '../../api/errors.ts';
import { capabilitiesQuery } from '../../api/queries.ts';
import { useChange } from '../../api/use-change.ts';
import { formatInstant } from '../../format/format.ts';
import { Button } from '../../ui/button.tsx';
import { CopyLine } from '../../ui/copy.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card, ErrorLine } from '../../ui/surface.tsx';
import { SignInFirst } from '../sign-in/entry.tsx';

const permissionKey = ['credits', 'permission'];
const lotUsd = 5;
/** The first five lots, and three a week for about half a year. */
const usualLots = 80;
const mostLots = 200;

/** Makes and revokes the code with which `sotto purse buy` withdraws credits. Nothing else of anonymous wallets is on this page. */
export function CreditsCard() {
  const { data: capabilities } = useQuery(capabilitiesQuery);
  const isEnabled = capabilities?.anonymous_wallets.enabled === true;
  const { data } = useQuery({
    queryKey: permissionKey,
    queryFn: ({ signal }) => call('GET /v1/credits/codes', { signal }),
    enabled: isEnabled,
  });
  const [typed, setTyped] = useState(String(usualLots));
  const lots = Number(typed);
  const isRight = Number.isInteger(lots) && lots >= 1 && lots <= mostLots;
  const making = useChange({
    mutationFn: () => call('POST /v1/credits/codes', { body: { lots } }),
    refreshes: { queryKey: permissionKey },
    answersSecret: true,
    // The code is money. It is forgotten with the page.
    gcTime: 0,
  });
  const revoking = useChange({
    mutationFn: () => call('DELETE /v1/credits/codes'),
    refreshes: { queryKey: permissionKey },
    onSuccess: () => making.reset(),
    says: 'The code is revoked.',
  });
  if (!isEnabled) return null;
  const permission = data?.permission;
  return (
    <Card
      title="Anonymous credits"
      lead="Turn money that you paid by crypto into credits, in lots of $5. They pay for wallets that no record links to your account. Times of payment and use can still tell."
    >
      <p className="mb-3 text-sm text-muted">
        This page comes from the operator, so it cannot do it for you. The command <code>sotto purse buy</code> buys
        lots on your machine at times of its own, and asks for a code once. Give the code to nobody: who has it can take
        as many lots as you permit.
      </p>
      {permission && (
        <div className="mb-3 flex flex-wrap items-center gap-3 text-sm">
          <span>
            A code permits {permission.lots} more {permission.lots === 1 ? 'lot' : 'lots'} (${permission.lots * lotUsd}
            ), until {formatInstant(permission.expires_at)}.
          </span>
          <Button look="danger" busy={revoking.isPending} onClick={() => revoking.mutate()}>
            Revoke the code
          </Button>
        </div>
      )}
      {making.data === undefined ? (
        <div className="flex flex-wrap items-end gap-3">
          <TextField
            label="Lots that the code permits"
            hint={isRight ? `At most $${lots * lotUsd} within a year.` : undefined}
            error={isRight ? undefined : `A whole number from 1 to ${mostLots}.`}
            inputMode="numeric"
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
          />
          <Button busy={making.isPending} disabled={!isRight} onClick={() => making.mutate()}>
            {permission ? 'Replace the code' : 'Create a code'}
          </Button>
        </div>
      ) : (
        <div className="space-y-2" role="status">
          <CopyLine text={making.data.code} label="Copy the code" testId="credit-code" />
          <p className="text-sm text-muted">
            Only now is it shown. Take it to <code>sotto purse buy</code>.
          </p>
        </div>
      )}
      {needsNewSignIn(making.error) ? (
        <SignInFirst goal="create the code" returnTo="/billing" />
      ) : (
        <ErrorLine error={making.error ?? revoking.error} />
      )}
    </Card>
  );
}
