import { useNavigate, useSearch } from '@tanstack/react-router';
import { addressOf } from '../../api/call.ts';
import { dayAt, monthFrom } from '../../format/days.ts';
import { formatMonth } from '../../format/format.ts';
import { DownloadLink } from '../../ui/button.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Card, Page } from '../../ui/surface.tsx';
import { SpendTable } from './spend-table.tsx';

const monthsBack = 36;

/** `/operator/spend`: what each person used in a month, in each workspace. */
export function SpendPage() {
  const navigate = useNavigate();
  const thisMonth = monthFrom(dayAt(Date.now()), 0);
  const { month = thisMonth.slice(0, 7) } = useSearch({ from: '/session/operator/spend' });
  const months = Array.from({ length: monthsBack }, (_, ago) => monthFrom(thisMonth, -ago).slice(0, 7));
  const filters = { from: `${month}-01`, to: monthFrom(`${month}-01`, 1) };
  return (
    <Page
      title="Spend"
      lead="What each person used, by month (UTC) and workspace. Anonymous wallets are not in it, nor are models and keys."
      actions={
        <DownloadLink href={addressOf('GET /v1/operator/spend', { query: { ...filters, format: 'csv' } })}>
          Export
        </DownloadLink>
      }
    >
      <SelectField
        className="md:w-52"
        label="Month"
        value={month}
        choices={[...new Set([...months, month])].map((value) => ({ value, label: formatMonth(value) }))}
        onChange={(chosen) =>
          void navigate({ to: '/operator/spend', search: { month: chosen }, replace: true, resetScroll: false })
        }
      />
      <Card>
        <SpendTable key={month} filters={filters} />
      </Card>
    </Page>
  );
}
