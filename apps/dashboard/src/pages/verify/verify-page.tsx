import { useQuery } from '@tanstack/react-query';
import { RefreshCw } from 'lucide-react';
import { confidentialOrigin } from '../../api/origins.ts';
import { useSignedIn } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, ErrorState, Page } from '../../ui/surface.tsx';
import { gatewayVerificationQuery } from '../../verification/client.ts';
import { ownPins } from '../../verification/pins.ts';
import { Enclave } from './enclave.tsx';
import { GatewayReport } from './gateway-report.tsx';
import { PinsCard } from './pins-card.tsx';

/** `/verify`: what runs at the confidential origin, and behind its enclave routes, check by check. */
export function VerifyPage() {
  const user = useSignedIn();
  const { data, error, isFetching, refetch } = useQuery(gatewayVerificationQuery(ownPins.use()));
  return (
    <Page
      title="Verify"
      lead="What runs at the confidential origin, checked by this browser with a nonce of its own. Nothing that the checked machine says decides what is accepted."
      actions={
        <Button busy={isFetching} icon={<RefreshCw aria-hidden className="size-4" />} onClick={() => void refetch()}>
          Verify again
        </Button>
      }
    >
      {error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading label="The confidential origin is being verified" lines={12} />
      ) : (
        <GatewayReport verification={data} />
      )}
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Card
          title="What a browser cannot see"
          lead="A browser shows no page the TLS key of its connection. That one check is not made here, and the verdict ends at “Cryptographically checked”. The command line looks at the key, too, and reaches “Hardware verified”."
        >
          <CodeBlock label="sotto verify" code={`sotto verify ${confidentialOrigin}`} />
          <p className="mt-3 text-sm text-muted">
            This page is served by the control plane, which you need not trust with content: to rely on a verification,
            make it with the command or the library, from source that you read.
          </p>
        </Card>
        <PinsCard />
      </div>
      {user !== undefined && <Enclave isSignedIn={user !== null} />}
    </Page>
  );
}
