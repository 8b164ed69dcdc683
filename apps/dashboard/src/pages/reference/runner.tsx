import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Play } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { unreachable } from '../../api/errors.ts';
import { useChange } from '../../api/use-change.ts';
import { formatCount, formatExactUsd, formatMs } from '../../format/format.ts';
import { useSessionKeyTerms } from '../../inference-key/session-key.ts';
import { useTabKey } from '../../inference-key/tab-key.ts';
import { useSignedIn } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, linkClass } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { TextAreaField, TextField } from '../../ui/field.tsx';
import { Card, ErrorLine } from '../../ui/surface.tsx';
import { gatewayVerificationQuery, ownPins } from '../../verification/client.ts';
import { simulationAllowed } from '../../verification/simulation-allowed.ts';
import { useWorkspace } from '../../workspaces/workspaces.tsx';
import { mayMakeKeys } from '../keys/key-rules.ts';
import { PageVerification } from '../playground/page-verification.tsx';
import { obstacleOf, standingOf } from '../playground/standing.ts';
import { useTabWay } from '../playground/tab-way.ts';
import type { Described } from './described.ts';
import { parsedObject, privatePathOf, runKindOf, targetOf } from './run.ts';

interface RunnerProps {
  readonly described: Described;
  /** The body as JSON, as far as it is typed. It begins with the example. */
  readonly body: string;
  readonly onBody: (body: string) => void;
}

/** Runs an operation from this browser: by the private flow with the reader's key, or with the reader's session. */
export function Runner({ described, ...body }: RunnerProps) {
  const user = useSignedIn();
  const { workspace } = useWorkspace();
  const kind = runKindOf(described);
  if (kind === undefined) return null;
  if (kind !== 'open' && !user) {
    return (
      <Card title="Try it">
        <p className="text-sm text-muted">
          <Link to="/sign-in" search={{ return_to: window.location.pathname }} className={linkClass}>
            Sign in
          </Link>{' '}
          to run it from this page.
        </p>
      </Card>
    );
  }
  if (kind !== 'private') return <PlainRunner described={described} withSession={kind === 'session'} />;
  if (workspace === undefined) return null;
  return <PrivateRunner described={described} {...body} workspace={workspace} />;
}

function PlainRunner({ described, withSession }: { described: Described; withSession: boolean }) {
  const parameters = (described.operation.parameters ?? []).filter(({ in: where }) => where !== 'header');
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const run = useRun((signal) =>
    fetch(targetOf(described, values), {
      headers: { accept: 'application/json' },
      credentials: withSession ? 'same-origin' : 'omit',
      signal,
    }).catch(() => {
      throw unreachable();
    }),
  );
  const isMissing = parameters.some(({ name, required }) => required && (values[name] ?? '') === '');
  return (
    <Card
      title="Try it"
      lead={withSession ? 'Sent by this browser with your session.' : 'Sent by this browser, without a credential.'}
    >
      <div className="space-y-3">
        {parameters.map(({ name, required, in: where }) => (
          <TextField
            key={name}
            label={required ? name : `${name} (optional)`}
            hint={where === 'path' ? 'In the path.' : undefined}
            autoComplete="off"
            value={values[name] ?? ''}
            onChange={({ target }) => setValues({ ...values, [name]: target.value })}
          />
        ))}
        <Send run={run} obstacle={isMissing ? 'Fill in the required parameters.' : undefined} />
      </div>
    </Card>
  );
}

interface PrivateRunnerProps extends RunnerProps {
  readonly workspace: WorkspaceAnswer;
}

function PrivateRunner({ described, body, onBody, workspace }: PrivateRunnerProps) {
  const pins = ownPins.use();
  const allowSimulated = simulationAllowed.use();
  const [tabKey] = useTabKey(workspace.id);
  const terms = useSessionKeyTerms(workspace);
  const open = useTabWay(workspace, { way: 'private', allowSimulated, pins });
  const { data: verification, isPending: isVerifying } = useQuery(gatewayVerificationQuery(pins));
  const path = privatePathOf(described);
  const parsed = useMemo(() => parsedObject(body), [body]);
  const run = useRun(async (signal) => {
    if (path === undefined || parsed === undefined) throw new Error('nothing to send');
    return (await open()).send(path, parsed, signal);
  });
  const hasKey = tabKey !== undefined || mayMakeKeys(workspace.role);
  const obstacle =
    parsed === undefined
      ? 'The body is not a JSON object.'
      : obstacleOf({ hasKey, way: 'private', verification, isVerifying, allowSimulated });
  return (
    <Card
      title="Try it"
      lead="Sent by the private flow: your key goes to control, the body to the broker. It costs what any request costs."
    >
      <div className="space-y-3">
        <TextAreaField
          label="Body"
          rows={Math.min(14, body.split('\n').length + 1)}
          spellCheck={false}
          className="[&_textarea]:font-mono [&_textarea]:text-sm"
          value={body}
          onChange={({ target }) => onBody(target.value)}
        />
        {verification !== undefined && standingOf(verification).kind !== 'verified' && (
          <PageVerification
            allowSimulated={allowSimulated}
            onAllowSimulated={(allowed) => simulationAllowed.update(() => allowed)}
          />
        )}
        <Send run={run} obstacle={obstacle} />
        {tabKey === undefined && obstacle === undefined && (
          <p className="text-sm text-muted">{`The first run creates a key for this tab: ${terms}.`}</p>
        )}
      </div>
    </Card>
  );
}

/** An answer as the page shows it. */
interface Shown {
  readonly status: number;
  readonly isGood: boolean;
  readonly ms: number;
  readonly costUsd: number | undefined;
  readonly label: string;
  readonly text: string;
}

const mostCharacters = 20_000;

/** Runs requests. `stop` ends the one that is under way, as does a reader who leaves the page. */
function useRun(send: (signal: AbortSignal) => Promise<Response>) {
  const running = useRef<AbortController>(undefined);
  const stop = (): void => running.current?.abort();
  useEffect(() => () => running.current?.abort(), []);
  const run = useChange({
    mutationFn: async (): Promise<Shown | undefined> => {
      const controller = new AbortController();
      const { signal } = controller;
      running.current = controller;
      try {
        return await shownOf(performance.now(), await send(signal));
      } catch (error) {
        if (signal.aborted) return undefined;
        throw error;
      }
    },
  });
  return { ...run, stop };
}

async function shownOf(startedAt: number, answer: Response): Promise<Shown> {
  const label = answer.headers.get('content-type')?.split(';')[0] ?? 'No content';
  const isText = /json|text|event-stream/.test(label);
  const text = isText ? await answer.text() : `${formatCount((await answer.arrayBuffer()).byteLength)} bytes`;
  return {
    ...{ status: answer.status, isGood: answer.ok, ms: performance.now() - startedAt, label },
    costUsd: costOf(text),
    text: prettyJson(text).slice(0, mostCharacters),
  };
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const costOf = (text: string): number | undefined => {
  const [, cost] = /"cost":\s*([\d.e-]+)/.exec(text) ?? [];
  return cost === undefined ? undefined : Number(cost);
};

/** Scrolls as little as brings all of it into sight. */
const showWhole = (shown: HTMLElement | null): void => shown?.scrollIntoView({ block: 'nearest' });

function Send({ run, obstacle }: { run: ReturnType<typeof useRun>; obstacle: string | undefined }) {
  const { data } = run;
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center gap-3">
        <Button
          look="primary"
          busy={run.isPending}
          disabled={obstacle !== undefined}
          icon={<Play aria-hidden className="size-4" />}
          onClick={() => run.mutate()}
        >
          Run
        </Button>
        {run.isPending && <Button onClick={run.stop}>Stop</Button>}
        {obstacle !== undefined && <p className="min-w-0 text-sm text-muted">{obstacle}</p>}
      </div>
      <ErrorLine error={run.error} className="text-sm" />
      {data !== undefined && (
        <section key={run.submittedAt} ref={showWhole} aria-label="Answer" className="scroll-my-4 space-y-2">
          <p role="status" className="flex flex-wrap items-center gap-2 text-sm text-muted">
            <Badge tone={data.isGood ? 'good' : 'danger'}>{String(data.status)}</Badge>
            {formatMs(data.ms)}
            {data.costUsd !== undefined && ` · ${formatExactUsd(data.costUsd)}`}
          </p>
          <div className="max-h-96 overflow-y-auto">
            <CodeBlock label={data.label} name="The answer" code={data.text} />
          </div>
        </section>
      )}
    </div>
  );
}
