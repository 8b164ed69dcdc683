import type { OriginVerification } from '@sotto/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { confidentialOrigin } from '../../api/origins.ts';
import { useSignedIn } from '../../session/session.ts';
import { sottoCommand } from '../../snippets/agent-snippets.ts';
import { Button, linkClass } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { TextAreaField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, ErrorState, Loading, Page } from '../../ui/surface.tsx';
import { gatewayVerificationQuery, loadClient, ownPins } from '../../verification/client.ts';
import { OneProcessNotice } from '../../verification/one-process.tsx';
import { Enclave } from './enclave-form.tsx';
import { GatewayReport } from './gateway-report.tsx';

/** The command that checks the same, and more. Simulated evidence needs consent there, too. */
const verifyCommand = (verification: OriginVerification | undefined): string =>
  `${sottoCommand(confidentialOrigin)} verify ${confidentialOrigin}${verification?.teeType === 'simulated' ? ' --allow-simulated' : ''}`;

/** `/verify`: what runs at the confidential origin, and behind its enclave routes, check by check. */
export function VerifyPage() {
  const user = useSignedIn();
  const pins = ownPins.use();
  const { data, error, isFetching, refetch } = useQuery(gatewayVerificationQuery(pins));
  return (
    <Page
      title="Verify"
      lead="Your browser checks which code the broker runs, with its own nonce. Your pins decide what is accepted, not the machine."
      actions={
        <Button busy={isFetching} icon={<RefreshCw aria-hidden className="size-4" />} onClick={() => void refetch()}>
          Verify again
        </Button>
      }
    >
      <OneProcessNotice />
      {error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading label="The broker is being verified" lines={12} />
      ) : (
        <GatewayReport verification={data} pins={pins} />
      )}
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Card
          title="Limits of a browser"
          lead="Browsers hide the TLS key of a connection, and export no value that only this connection has. So both checks are skipped here, and the verdict reaches at most “Cryptographically checked”. The command line makes both, and can reach “Hardware verified”."
        >
          <CodeBlock label="sotto verify" code={verifyCommand(data)} />
          <p className="mt-3 text-sm text-muted">
            <Link to="/guides/$" params={{ _splat: 'use/private-client' }} className={linkClass}>
              Get the command
            </Link>
            . The control plane serves this page. To depend on a verification, run the command or the library from
            source code that you trust.
          </p>
        </Card>
        <PinsCard />
      </div>
      {user !== undefined && <Enclave isSignedIn={user !== null} />}
    </Page>
  );
}

/** The accepted machines: those of this build, or the user's own. */
function PinsCard() {
  const pins = ownPins.use();
  const [typed, setTyped] = useState('');
  const [problem, setProblem] = useState<string>();
  const client = useQuery({ queryKey: ['client'], queryFn: loadClient, staleTime: Number.POSITIVE_INFINITY });
  const shipped = client.data?.shippedPins.gateway;
  const hasShipped = shipped?.tdx !== undefined || shipped?.sev_snp !== undefined;
  const use = (): void => {
    if (client.data === undefined) return;
    const read = client.data.readPins(typed);
    setProblem(typeof read === 'string' ? `These pins are invalid: ${read}.` : undefined);
    if (typeof read !== 'string') ownPins.update(() => read);
  };
  return (
    <Card
      title="Pins"
      lead={
        pins !== undefined
          ? 'This tab uses your own pins, also in the playground.'
          : hasShipped
            ? 'Pins say which machines are accepted. This tab uses the pins of the releases that this build knows.'
            : 'Pins say which machines are accepted. This build contains no pins yet, so add your own to trust a machine.'
      }
    >
      {pins !== undefined ? (
        <Button onClick={() => ownPins.update(() => undefined)}>Use the pins of this build</Button>
      ) : (
        <details>
          <summary className="min-h-8 cursor-pointer text-accent">Use your own pins</summary>
          <Form
            form={{ submit: use }}
            action="Verify with these pins"
            look="plain"
            disabled={typed.trim() === '' || client.data === undefined}
            className="mt-2 space-y-3"
          >
            <TextAreaField
              label="Pins, as JSON"
              rows={5}
              spellCheck={false}
              value={typed}
              hint="The content of a file for sotto verify --pins. It stays in this tab."
              error={problem}
              onChange={(event) => {
                setTyped(event.target.value);
                setProblem(undefined);
              }}
            />
          </Form>
        </details>
      )}
    </Card>
  );
}
