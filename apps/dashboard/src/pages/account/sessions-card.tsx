import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useChange } from '../../api/use-change.ts';
import { deviceWords } from '../../format/device.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmChange } from '../../ui/dialog.tsx';
import { Card, Loaded } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Instant } from '../../ui/text.tsx';
import { useAnnounceError } from '../../ui/toasts.tsx';
import { revokeOthers, revokeSession, type SessionRow, sessionsQuery } from './account-queries.ts';

type Row = SessionRow & { readonly isOwn: boolean };

const nameOf = ({ userAgent }: SessionRow): string => deviceWords(userAgent) ?? 'Unknown device';

/** Lists the sessions of the account, and ends them. */
export function SessionsCard() {
  return (
    <Loaded query={useQuery(sessionsQuery)} label="Sessions are loading">
      {(sessions) => <Sessions sessions={sessions} />}
    </Loaded>
  );
}

function Sessions({ sessions }: { sessions: readonly Row[] }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const ending = useChange({
    mutationFn: revokeSession,
    onSettled: () => client.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
    onError: useAnnounceError(),
  });
  const columns: readonly Column<Row>[] = [
    {
      title: 'Device',
      heading: true,
      cell: (session) => (
        <span className="inline-flex flex-wrap items-center gap-2">
          {nameOf(session)}
          {session.isOwn && <Badge tone="accent">This one</Badge>}
        </span>
      ),
    },
    { title: 'Signed in', cell: ({ createdAt }) => <Instant at={createdAt} /> },
    { title: 'Last renewed', cell: ({ updatedAt }) => <Instant at={updatedAt} /> },
    {
      title: 'End',
      hiddenTitle: true,
      numeric: true,
      cell: (session) =>
        session.isOwn ? null : (
          <Button
            small
            busy={ending.isPending && ending.variables.token === session.token}
            onClick={() => ending.mutate({ token: session.token })}
          >
            End<span className="sr-only"> the session of {nameOf(session)}</span>
          </Button>
        ),
    },
  ];
  return (
    <Card
      title="Sessions"
      lead="Browsers and programs that are signed in. A session ends after 30 days without use."
      actions={
        sessions.length > 1 && (
          <Button small look="danger" onClick={() => setAsking(true)}>
            End all others
          </Button>
        )
      }
    >
      <Table caption="Sessions" columns={columns} rows={sessions} rowKey={({ id }) => id} />
      {isAsking && (
        <ConfirmChange
          onClose={() => setAsking(false)}
          title="End all other sessions?"
          consequence="Every other browser and program must sign in again."
          action="End them"
          change={{ mutationFn: revokeOthers, refreshes: sessionsQuery, says: 'Your other sessions have ended.' }}
        />
      )}
    </Card>
  );
}
