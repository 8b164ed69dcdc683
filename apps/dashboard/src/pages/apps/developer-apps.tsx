import type { AppAnswer } from '@sotto/contract/control/connect';
import { useQuery } from '@tanstack/react-query';
import { KeyRound, Pencil, PowerOff } from 'lucide-react';
import { call } from '../../api/call.ts';
import { controlOrigin } from '../../api/origins.ts';
import { Badge } from '../../ui/badge.tsx';
import { CodeBlock, CopyButton } from '../../ui/copy.tsx';
import { asking } from '../../ui/dialog.tsx';
import { Resource, type RowAction, Rows } from '../../ui/resource.tsx';
import { Card } from '../../ui/surface.tsx';
import type { Column } from '../../ui/table.tsx';
import { Truncated } from '../../ui/text.tsx';
import { ChangeAppDialog, NewAppDialog, RotateAppDialog } from './app-dialog.tsx';
import { appsQuery } from './apps.ts';

/** Apps that this account has registered. */
export function DeveloperApps() {
  return (
    <div className="space-y-6">
      <Resource
        query={useQuery(appsQuery)}
        loading="Your apps are loading"
        empty={{
          title: 'No apps registered',
          text: 'Register an app to request access by OAuth 2.1 and OpenID Connect instead of asking people for keys.',
        }}
        create={{ action: 'Register an app', dialog: (onClose) => <NewAppDialog onClose={onClose} /> }}
        card={{ title: 'Your apps' }}
        rows={(apps) => (
          <Rows
            caption="Your apps"
            columns={columns}
            rows={apps}
            rowKey={({ id }) => id}
            nameOf={({ name }) => name}
            actions={actionsOf}
          />
        )}
      />
      <Card title="For OAuth libraries" lead="They discover all other settings from it.">
        <CodeBlock label="Issuer" code={`${controlOrigin}/v1/connect`} />
      </Card>
    </div>
  );
}

const actionsOf = (app: AppAnswer): readonly RowAction[] => [
  { label: 'Change', icon: Pencil, does: { dialog: (onClose) => <ChangeAppDialog {...{ app, onClose }} /> } },
  ...(app.type === 'public'
    ? []
    : [
        {
          label: 'New secret',
          icon: KeyRound,
          does: { dialog: (onClose: () => void) => <RotateAppDialog {...{ app, onClose }} /> },
        },
      ]),
  {
    label: 'Disable',
    icon: PowerOff,
    danger: true,
    does: asking({
      title: `Disable ${app.name}?`,
      consequence: 'It loses access to all accounts at once. You cannot undo this.',
      action: 'Disable',
      change: {
        mutationFn: () => call('DELETE /v1/connect/apps/{id}', { params: { id: app.id } }),
        refreshes: appsQuery,
      },
    }),
  },
];

const columns: readonly Column<AppAnswer>[] = [
  {
    title: 'Name',
    heading: true,
    cell: ({ name, type }) => (
      <span className="flex flex-wrap items-center gap-2">
        <Truncated text={name} />
        <Badge>{type === 'public' ? 'Public' : 'Confidential'}</Badge>
      </span>
    ),
  },
  {
    title: 'Client id',
    cell: ({ client_id: clientId }) => (
      <span className="inline-flex flex-wrap items-center gap-2">
        <code className="font-mono text-sm break-all">{clientId}</code>
        <CopyButton text={clientId} />
      </span>
    ),
  },
  {
    title: 'Redirect URIs',
    cell: ({ redirect_uris: uris }) => (
      <span className="block space-y-0.5">
        {uris.map((uri) => (
          <span key={uri} className="block text-sm break-all">
            {uri}
          </span>
        ))}
      </span>
    ),
  },
];
