import { useQuery } from '@tanstack/react-query';
import { deviceWords } from '../../format/device.ts';
import { Badge } from '../../ui/badge.tsx';
import { asking, DialogButton } from '../../ui/dialog.tsx';
import { Resource, Rows } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';
import { Instant } from '../../ui/text.tsx';
import { revokeOthers, revokeSession, type SessionRow, sessionsQuery } from './account-queries.ts';

type Row = SessionRow & { readonly isOwn: boolean };

const nameOf = ({ userAgent }: SessionRow): string => deviceWords(userAgent) ?? 'Unknown device';

/** Lists the sessions of the account, and ends them. */
export function SessionsCard() {
  return (
    <Resource
      query={useQuery(sessionsQuery)}
      loading="Sessions are loading"
      card={({ length }) => ({
        title: 'Sessions',
        lead: 'Browsers and programs that are signed in. A session ends after 30 days without use.',
        actions: length > 1 && <EndOthers />,
      })}
      rows={(sessions) => (
        <Rows
          caption="Sessions"
          columns={columns}
          rows={sessions}
          rowKey={({ id }) => id}
          nameOf={(session) => `the session of ${nameOf(session)}`}
          actions={(session) => (session.isOwn ? [] : [{ label: 'End', does: ending(session) }])}
        />
      )}
    />
  );
}

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
];

const ending = (session: Row) =>
  asking({
    title: `End the session of ${nameOf(session)}?`,
    consequence: 'It must sign in again.',
    action: 'End',
    change: { mutationFn: () => revokeSession(session.token), refreshes: sessionsQuery },
  });

const EndOthers = () => (
  <DialogButton
    small
    look="danger"
    {...asking({
      title: 'End all other sessions?',
      consequence: 'Every other browser and program must sign in again.',
      action: 'End them',
      change: { mutationFn: revokeOthers, refreshes: sessionsQuery, says: 'Your other sessions have ended.' },
    })}
  >
    End all others
  </DialogButton>
);
