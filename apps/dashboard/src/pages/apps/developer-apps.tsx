import type { AppAnswer } from '@sotto/contract/control/connect';
import { useQuery } from '@tanstack/react-query';
import { Ellipsis, KeyRound, Pencil, Plus, PowerOff } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { controlOrigin } from '../../api/origins.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { CodeBlock, CopyButton } from '../../ui/copy.tsx';
import { ConfirmChange } from '../../ui/dialog.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Card, EmptyState, Loaded } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Truncated } from '../../ui/text.tsx';
import { AppDialog, SecretDialog } from './app-dialog.tsx';
import { appsQuery } from './apps.ts';

/** An action on one app. */
interface AppAction {
  readonly what: 'change' | 'rotate' | 'disable';
  readonly app: AppAnswer;
}

/** Apps that this account has registered. */
export function DeveloperApps() {
  const [isRegistering, setRegistering] = useState(false);
  const [action, setAction] = useState<AppAction>();
  const [shown, setShown] = useState<AppAnswer>();
  const register = (
    <Button look="primary" icon={<Plus aria-hidden className="size-4" />} onClick={() => setRegistering(true)}>
      Register an app
    </Button>
  );
  return (
    <div className="space-y-6">
      <Loaded query={useQuery(appsQuery)} label="Your apps are loading">
        {(apps) =>
          apps.length === 0 ? (
            <EmptyState
              title="No apps registered"
              text="Register an app to request access by OAuth 2.1 and OpenID Connect instead of asking people for keys."
              action={register}
            />
          ) : (
            <Card title="Your apps" actions={register}>
              <Table caption="Your apps" columns={columnsWith(setAction)} rows={apps} rowKey={({ id }) => id} />
            </Card>
          )
        }
      </Loaded>
      <Card title="For OAuth libraries" lead="They discover all other settings from it.">
        <CodeBlock label="Issuer" code={`${controlOrigin}/v1/connect`} />
      </Card>
      {isRegistering && (
        <AppDialog
          app={undefined}
          onClose={() => setRegistering(false)}
          onSaved={(app) => {
            setRegistering(false);
            setShown(app);
          }}
        />
      )}
      {action?.what === 'change' && (
        <AppDialog app={action.app} onClose={() => setAction(undefined)} onSaved={() => setAction(undefined)} />
      )}
      {action?.what === 'rotate' && (
        <ConfirmChange
          onClose={() => setAction(undefined)}
          title={`A new secret for ${action.app.name}?`}
          consequence="The old secret stops working at once, and everyone who connected the app must allow it again."
          action="Create a new secret"
          change={{
            mutationFn: () => call('POST /v1/connect/apps/{id}/rotate-secret', { params: { id: action.app.id } }),
            refreshes: appsQuery,
            onSuccess: setShown,
          }}
        />
      )}
      {action?.what === 'disable' && (
        <ConfirmChange
          onClose={() => setAction(undefined)}
          title={`Disable ${action.app.name}?`}
          consequence="It loses access to all accounts at once. You cannot undo this."
          action="Disable"
          change={{
            mutationFn: () => call('DELETE /v1/connect/apps/{id}', { params: { id: action.app.id } }),
            refreshes: appsQuery,
          }}
        />
      )}
      {shown !== undefined && <SecretDialog app={shown} onClose={() => setShown(undefined)} />}
    </div>
  );
}

const icon = 'size-4';

const columnsWith = (begin: (action: AppAction) => void): readonly Column<AppAnswer>[] => [
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
  {
    title: 'What to do',
    hiddenTitle: true,
    numeric: true,
    cell: (app) => (
      <Menu
        trigger={<IconButton label={`Actions for ${app.name}`} icon={<Ellipsis aria-hidden className="size-5" />} />}
        groups={[
          [
            {
              label: 'Change',
              icon: <Pencil aria-hidden className={icon} />,
              onSelect: () => begin({ what: 'change', app }),
            },
            ...(app.type === 'public'
              ? []
              : [
                  {
                    label: 'New secret',
                    icon: <KeyRound aria-hidden className={icon} />,
                    onSelect: () => begin({ what: 'rotate', app }),
                  },
                ]),
          ],
          [
            {
              label: 'Disable',
              icon: <PowerOff aria-hidden className={icon} />,
              danger: true,
              onSelect: () => begin({ what: 'disable', app }),
            },
          ],
        ]}
      />
    ),
  },
];
