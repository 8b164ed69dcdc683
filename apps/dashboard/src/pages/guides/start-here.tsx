import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Bot, Braces, ShieldCheck, Wallet } from 'lucide-react';
import type { ReactNode } from 'react';
import { accountQuery } from '../../api/queries.ts';
import { useSignedIn } from '../../session/session.ts';
import { keyPlaceholder } from '../../snippets/snippets.ts';
import { buttonClass, linkClass } from '../../ui/button.tsx';
import { CopyLine } from '../../ui/copy.tsx';
import { Card } from '../../ui/surface.tsx';
import { FirstRequestSnippets } from './first-request-snippets.tsx';
import { useDeployment } from './use-deployment.ts';

/** Where to begin: the addresses of this deployment, the reader's key, a first request, and guides by purpose. */
export function StartHere() {
  const { controlOrigin, confidentialOrigin, key } = useDeployment();
  const user = useSignedIn();
  const { data: account } = useQuery({ ...accountQuery, enabled: Boolean(user) });
  return (
    <div className="min-w-0 max-w-4xl space-y-6">
      <Card title="1. Your addresses" lead="Content goes to the broker, your key to control. No program needs more.">
        <dl className="grid gap-3 sm:grid-cols-2">
          <Address name="Broker: the base URL of every OpenAI client" value={`${confidentialOrigin}/v1`} />
          <Address name="Control: tickets, balance and usage" value={`${controlOrigin}/v1`} />
        </dl>
      </Card>
      <Card
        title="2. Your key"
        lead={
          key === keyPlaceholder
            ? 'A key is shown once. Then it is filled in below, and in every guide, until you close this tab.'
            : 'The key of this tab is filled in below, and in every guide.'
        }
        actions={
          <Link to={user ? '/first-steps' : '/sign-in'} className={buttonClass('plain', true)}>
            {user ? (key === keyPlaceholder ? 'Create a key' : 'See the key') : 'Sign in'}
          </Link>
        }
      >
        <p className="text-sm text-muted">
          Keys, their limits and who may use them are on{' '}
          <Link to="/keys" className={linkClass}>
            Keys
          </Link>
          .
        </p>
      </Card>
      <Card title="3. Your first request" lead="Choose your tool. These work as they are once your key is in them.">
        <FirstRequestSnippets />
      </Card>
      <Card title="Then">
        <ul className="grid gap-3 sm:grid-cols-2">
          <Purpose
            icon={<Bot aria-hidden className="size-5 text-accent" />}
            title="Use a coding agent"
            links={[
              ['tools/coding-agents', 'Coding agents'],
              ['tools/claude-code', 'Claude Code'],
              ['tools/codex', 'Codex'],
              ['tools/cursor', 'Cursor'],
            ]}
          />
          <Purpose
            icon={<Braces aria-hidden className="size-5 text-accent" />}
            title="Write a program"
            links={[
              ['tools/python', 'Python'],
              ['tools/javascript', 'JavaScript'],
              ['use/routing-preferences', 'Routing'],
              ['use/parameters', 'Parameters'],
              ['start/troubleshooting', 'Troubleshooting'],
            ]}
          />
          <Purpose
            icon={<ShieldCheck aria-hidden className="size-5 text-accent" />}
            title="Keep it private"
            links={[
              ['use/private-client', 'The private client'],
              ['concepts/planes', 'Who sees what'],
              ['use/verifying', 'Verify the broker'],
              ['use/end-to-end-encryption', 'End-to-end encryption'],
            ]}
          />
          <Purpose
            icon={<Wallet aria-hidden className="size-5 text-accent" />}
            title="Share and pay"
            links={[
              ['use/accounts-and-workspaces', 'Workspaces'],
              ['use/budgets', 'Budgets and alerts'],
              ['use/billing', 'Billing and usage'],
            ]}
          />
        </ul>
        {account?.is_operator === true && (
          <p className="mt-4 text-sm text-muted">
            You run this deployment: <GuideTo path="operate/people" text="People" />,{' '}
            <GuideTo path="operate/providers-and-catalog" text="Providers and catalog" />,{' '}
            <GuideTo path="operate/monitoring-and-runbooks" text="Monitoring" />,{' '}
            <GuideTo path="operate/upgrades" text="Upgrades" />.
          </p>
        )}
      </Card>
    </div>
  );
}

function Address({ name, value }: { name: string; value: string }) {
  return (
    <div className="min-w-0">
      <dt className="mb-1 text-sm text-muted">{name}</dt>
      <dd>
        <CopyLine text={value} label="Copy address" testId="address" />
      </dd>
    </div>
  );
}

const GuideTo = ({ path, text }: { path: string; text: string }) => (
  <Link to="/guides/$" params={{ _splat: path }} className={linkClass}>
    {text}
  </Link>
);

interface PurposeProps {
  readonly icon: ReactNode;
  readonly title: string;
  readonly links: readonly (readonly [path: string, text: string])[];
}

function Purpose({ icon, title, links }: PurposeProps) {
  return (
    <li className="rounded-xl border border-line p-4">
      <h3 className="mb-1 flex items-center gap-2 font-medium">
        {icon}
        {title}
      </h3>
      <p className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {links.map(([path, text]) => (
          <GuideTo key={path} path={path} text={text} />
        ))}
      </p>
    </li>
  );
}
