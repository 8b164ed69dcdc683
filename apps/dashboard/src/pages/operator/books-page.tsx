import type { BooksAnswer, RejectedSettlementListAnswer } from '@sotto/contract/control/operator';
import { useQuery } from '@tanstack/react-query';
import { useForm } from '../../api/use-form.ts';
import { TextField } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { Resource, Rows } from '../../ui/resource.tsx';
import { Card, Loaded, Notice, Page } from '../../ui/surface.tsx';
import { type Column, Table, usdColumn } from '../../ui/table.tsx';
import { Instant, Sentence } from '../../ui/text.tsx';
import { booksQuery, rejectedQuery } from './operator-queries.ts';
import { Proof } from './proof.tsx';

/** `/operator/books`: whether the ledger is consistent, and what could not be booked. */
export function BooksPage() {
  return (
    <Page title="Ledger" lead="Its amounts, recomputed now, and charges that could not be booked.">
      <Card title="Audit" lead={<Sentence text="`sotto-control audit` also compares Redis." />}>
        <Loaded query={useQuery(booksQuery)} label="The ledger is being recomputed" lines={2}>
          {(books) => <Findings books={books} />}
        </Loaded>
      </Card>
      <Resource
        query={useQuery(rejectedQuery)}
        loading="Rejected settlements are loading"
        lines={2}
        page={(list) => (
          <Card title="Rejected settlements" lead="Charges that could not be booked.">
            {list}
          </Card>
        )}
        empty="None."
        rows={(rejected) => (
          <Rows
            caption="Rejected settlements"
            columns={rejectedColumns}
            rows={rejected}
            rowKey={({ id }) => id}
            nameOf={({ id }) => `the settlement ${id}`}
            actions={(settlement) => [
              {
                label: 'Dismiss',
                does: { dialog: (onClose) => <DismissDialog settlement={settlement} onClose={onClose} /> },
              },
            ]}
          />
        )}
      />
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

const rejectedColumns: readonly Column<Settlement>[] = [
  { title: 'Rejected', heading: true, cell: ({ at }) => <Instant at={at} /> },
  { title: 'Reason', cell: ({ reason }) => (reason === 'bad_mac' ? 'Not authentic' : 'Could not be booked') },
  // A dash: it cannot be read.
  usdColumn('Charge', ({ charge_usd }) => charge_usd),
];

function DismissDialog({ settlement: { id }, onClose }: { settlement: Settlement; onClose: () => void }) {
  const form = useForm('POST /v1/operator/rejected-settlements/{id}/dismiss', {
    params: { id },
    refreshes: { queryKey: ['operator'] },
    says: 'The settlement is dismissed.',
    onSuccess: onClose,
  });
  return (
    <>
      <FormDialog
        form={form}
        title="Dismiss the settlement"
        description="It will not be booked."
        action="Dismiss"
        onClose={onClose}
      >
        <TextField {...form.text('why')} label="Reason" />
      </FormDialog>
      <Proof change={form.change} />
    </>
  );
}
