import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { deviceWords } from '../../format/device.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Instant } from '../../ui/instant.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, ErrorState } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { revokeOthers, revokeSession, type SessionRow, sessionsQuery } from './account-queries.ts';

type Row = SessionRow & { readonly isOwn: boolean };

const nameOf = ({ userAgent }: SessionRow): string => deviceWords(userAgent) ?? 'Unknown device';

/** Where the account is signed in, and ending that. */
export function SessionsCard() {
  const { data: sessions, error, refetch } = useQuery(sessionsQuery);
  if (sessions === undefined && error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (sessions === undefined) return <Loading label="Sessions are loading" />;
  return <Sessions sessions={sessions} />;
}

function Sessions({ sessions }: { sessions: readonly Row[] }) {
  const client = useQueryClient();
  const announce = useAnnounce();
  const [isAsking, setAsking] = useState(false);
  const refresh = () => client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
  const ending = useChange({
    mutationFn: revokeSession,
    onSettled: refresh,
    onError: (error) => announce({ tone: 'danger', text: sentenceOf(error) }),
  });
  const endingOthers = useChange({
    mutationFn: () => revokeOthers(),
    onSuccess: async () => {
      await refresh();
      setAsking(false);
      announce({ text: 'Your other sessions have ended.' });
    },
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
      lead="Where your account is signed in. Each lasts 30 days from when it was last renewed, once a day."
      actions={
        sessions.length > 1 && (
          <Button small look="danger" onClick={() => setAsking(true)}>
            End all others
          </Button>
        )
      }
    >
      <Table caption="Sessions" columns={columns} rows={sessions} rowKey={({ id }) => id} />
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title="End all other sessions?"
        consequence="Every other browser and program has to sign in again."
        action="End them"
        busy={endingOthers.isPending}
        error={endingOthers.isError ? sentenceOf(endingOthers.error) : undefined}
        onConfirm={() => endingOthers.mutate()}
      />
    </Card>
  );
}
