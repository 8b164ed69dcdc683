import { useSearch } from '@tanstack/react-router';
import { addressOf } from '../../api/call.ts';
import { DownloadLink } from '../../ui/button.tsx';
import { Card, Page } from '../../ui/surface.tsx';
import { daysOfMonth, MonthField, thisMonth } from './month-field.tsx';
import { SpendTable } from './spend-table.tsx';

/** `/operator/spend`: what each person used in a month, in each workspace. */
export function SpendPage() {
  const { month = thisMonth() } = useSearch({ from: '/session/operator/spend' });
  const filters = daysOfMonth(month);
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
      <MonthField to="/operator/spend" month={month} />
      <Card>
        <SpendTable key={month} filters={filters} />
      </Card>
    </Page>
  );
}
