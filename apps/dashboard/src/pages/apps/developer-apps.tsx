import type { AppAnswer } from '@sotto/wire';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Ellipsis, KeyRound, Pencil, Plus, PowerOff } from 'lucide-react';
import { useState } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { controlOrigin } from '../../api/origins.ts';
import { useChange } from '../../api/use-change.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { CodeBlock, CopyButton } from '../../ui/copy.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, EmptyState, ErrorState } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { AppDialog } from './app-dialog.tsx';
import { appsQuery, disableApp, rotateSecret } from './app-queries.ts';
import { SecretDialog } from './secret-dialog.tsx';

/** What is done with one app. */
interface Deed {
  readonly what: 'change' | 'rotate' | 'disable';
  readonly app: AppAnswer;
}

/** Apps that this account has registered. */
export function DeveloperApps() {
  const { data: apps, error, refetch } = useQuery(appsQuery);
  const [isRegistering, setRegistering] = useState(false);
  const [deed, setDeed] = useState<Deed>();
  const [shown, setShown] = useState<AppAnswer>();
  const register = (
    <Button look="primary" icon={<Plus aria-hidden className="size-4" />} onClick={() => setRegistering(true)}>
      Register an app
    </Button>
  );
  return (
    <div className="space-y-6">
      {apps === undefined && error === null && <Loading label="Your apps are loading" />}
      {apps === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {apps?.length === 0 && (
        <EmptyState
          title="You have registered no app"
          text="Register one to ask people for access by OAuth 2.1 and OpenID Connect, instead of for their keys."
          action={register}
        />
      )}
      {apps !== undefined && apps.length > 0 && (
        <Card title="Your apps" actions={register}>
          <Table caption="Your apps" columns={columnsWith(setDeed)} rows={apps} rowKey={({ id }) => id} />
        </Card>
      )}
      <Card title="For OAuth libraries" lead="They find everything else by themselves.">
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
      {deed?.what === 'change' && (
        <AppDialog app={deed.app} onClose={() => setDeed(undefined)} onSaved={() => setDeed(undefined)} />
      )}
      <RotateDialog
        app={deed?.what === 'rotate' ? deed.app : undefined}
        onClose={() => setDeed(undefined)}
        onRotated={setShown}
      />
      <DisableDialog app={deed?.what === 'disable' ? deed.app : undefined} onClose={() => setDeed(undefined)} />
      <SecretDialog app={shown} onClose={() => setShown(undefined)} />
    </div>
  );
}

const icon = 'size-4';

const columnsWith = (begin: (deed: Deed) => void): readonly Column<AppAnswer>[] => [
  {
    title: 'Name',
    heading: true,
    cell: ({ name, type }) => (
      <span className="inline-flex flex-wrap items-center gap-2">
        {name}
        <Badge>{type === 'public' ? 'Public' : 'Confidential'}</Badge>
      </span>
    ),
  },
  {
    title: 'Client id',
    cell: ({ client_id: clientId }) => (
      <span className="inline-flex flex-wrap items-center gap-2 max-md:justify-end">
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
        trigger={
          <IconButton label={`What to do with ${app.name}`} icon={<Ellipsis aria-hidden className="size-5" />} />
        }
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

interface DeedDialogProps {
  readonly app: AppAnswer | undefined;
  readonly onClose: () => void;
}

function RotateDialog({ app, onClose, onRotated }: DeedDialogProps & { onRotated: (app: AppAnswer) => void }) {
  const client = useQueryClient();
  const rotating = useChange({
    mutationFn: rotateSecret,
    onSuccess: async (rotated) => {
      onClose();
      onRotated(rotated);
      await client.invalidateQueries({ queryKey: appsQuery.queryKey });
    },
  });
  return (
    <ConfirmDialog
      open={app !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose();
        rotating.reset();
      }}
      title={`A new secret for ${app?.name ?? 'the app'}?`}
      consequence="The old secret stops working at once, and everybody who has connected the app has to allow it again."
      action="Make a new secret"
      busy={rotating.isPending}
      error={rotating.isError ? sentenceOf(rotating.error) : undefined}
      onConfirm={() => {
        if (app !== undefined) rotating.mutate(app.id);
      }}
    />
  );
}

function DisableDialog({ app, onClose }: DeedDialogProps) {
  const client = useQueryClient();
  const disabling = useChange({
    mutationFn: disableApp,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: appsQuery.queryKey });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      open={app !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose();
        disabling.reset();
      }}
      title={`Disable ${app?.name ?? 'the app'}?`}
      consequence="It is disconnected from everybody at once, for good. This cannot be undone."
      action="Disable"
      busy={disabling.isPending}
      error={disabling.isError ? sentenceOf(disabling.error) : undefined}
      onConfirm={() => {
        if (app !== undefined) disabling.mutate(app.id);
      }}
    />
  );
}
