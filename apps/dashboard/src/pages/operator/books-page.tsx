import type { BooksAnswer, RejectedSettlementListAnswer } from '@sotto/contract/control/operator';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { addressOf, call } from '../../api/call.ts';
import { ActsTable } from '../../ui/acts-table.tsx';
import { Button, DownloadLink } from '../../ui/button.tsx';
import { Form } from '../../ui/change-form.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card, Loaded, Notice, Page } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Instant, Sentence, Usd } from '../../ui/text.tsx';
import { booksQuery, operatorActsQuery, rejectedQuery } from './operator-queries.ts';
import { useAct } from './use-act.tsx';

/** `/operator/books`: whether the ledger is consistent, what could not be booked, and who did what. */
export function BooksPage() {
  const acts = useInfiniteQuery(operatorActsQuery());
  return (
    <Page title="Books and audit" lead="The ledger, recomputed now, and the acts of operators and workspaces.">
      <Card title="Ledger" lead={<Sentence text="`sotto-control audit` also compares Redis." />}>
        <Loaded query={useQuery(booksQuery)} label="The ledger is being recomputed" lines={2}>
          {(books) => <Findings books={books} />}
        </Loaded>
      </Card>
      <Card title="Rejected settlements" lead="Charges that could not be booked.">
        <Loaded query={useQuery(rejectedQuery)} label="Rejected settlements are loading" lines={2}>
          {(rejected) =>
            rejected.length === 0 ? <p className="text-sm text-muted">None.</p> : <Rejected rejected={rejected} />
          }
        </Loaded>
      </Card>
      <Card
        title="Audit log"
        actions={
          <DownloadLink href={addressOf('GET /v1/operator/audit', { query: { format: 'csv' } })}>Export</DownloadLink>
        }
      >
        <ActsTable caption="All acts, newest first" query={acts} />
      </Card>
    </Page>
  );
}

const findingColumns: readonly Column<BooksAnswer['findings'][number]>[] = [
  { title: 'Finding', heading: true, cell: ({ what }) => what },
  { title: 'Id', cell: ({ id }) => <span className="break-all">{id}</span> },
  { title: 'Expected', numeric: true, cell: ({ expected }) => expected },
  { title: 'Found', numeric: true, cell: ({ found }) => found },
];

function Findings({ books: { is_clean, findings } }: { books: BooksAnswer }) {
  if (is_clean) return <Notice tone="good">Clean, to the nano-dollar.</Notice>;
  return (
    <Table
      caption="Findings"
      columns={findingColumns}
      rows={findings}
      rowKey={({ what, id }) => `${what} ${id}`}
      pageSize={25}
    />
  );
}

type Settlement = RejectedSettlementListAnswer['data'][number];

function Rejected({ rejected }: { rejected: readonly Settlement[] }) {
  const [chosen, setChosen] = useState<Settlement>();
  const columns: readonly Column<Settlement>[] = [
    { title: 'Rejected', heading: true, cell: ({ at }) => <Instant at={at} /> },
    { title: 'Reason', cell: ({ reason }) => (reason === 'bad_mac' ? 'Not authentic' : 'Could not be booked') },
    {
      title: 'Charge',
      numeric: true,
      cell: ({ charge_usd }) => (charge_usd === null ? 'Unreadable' : <Usd usd={charge_usd} />),
    },
    {
      title: 'Dismiss',
      hiddenTitle: true,
      numeric: true,
      cell: (settlement) => (
        <Button small onClick={() => setChosen(settlement)}>
          Dismiss…
        </Button>
      ),
    },
  ];
  return (
    <>
      <Table caption="Rejected settlements" columns={columns} rows={rejected} rowKey={({ id }) => id} />
      {chosen !== undefined && <DismissDialog settlement={chosen} onClose={() => setChosen(undefined)} />}
    </>
  );
}

function DismissDialog({ settlement: { id }, onClose }: { settlement: Settlement; onClose: () => void }) {
  const { act, proof } = useAct({
    mutationFn: (why: string) =>
      call('POST /v1/operator/rejected-settlements/{id}/dismiss', { params: { id }, body: { why } }),
    refreshes: { queryKey: ['operator'] },
    says: 'The settlement is dismissed.',
    onSuccess: onClose,
  });
  const close = () => !act.isPending && onClose();
  return (
    <Dialog onClose={close} title="Dismiss the settlement" description="It will not be booked.">
      <Form change={act} action="Dismiss" onCancel={close} onSubmit={(field) => act.mutate(field('why'))}>
        <TextField label="Reason" name="why" required maxLength={500} autoComplete="off" />
      </Form>
      {proof}
    </Dialog>
  );
}
