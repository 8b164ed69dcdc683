import { useSearch } from '@tanstack/react-router';
import { Page } from '../../ui/surface.tsx';
import { BalanceCard } from './balance-card.tsx';
import { OrderProgress } from './order-progress.tsx';
import { OrdersCard } from './orders-card.tsx';
import { ReceiptsCard } from './receipts-card.tsx';
import { SettingsCard } from './settings-card.tsx';
import { TopUpCard } from './top-up-card.tsx';

/** `/billing`: of the account that is signed in, whichever workspace is chosen. `order` is the one to follow. */
export function BillingPage() {
  const { order, checkout } = useSearch({ from: '/session/billing' });
  return (
    <Page title="Billing" lead="The balance of your account, and how it is filled.">
      {order !== undefined && <OrderProgress key={order} orderId={order} isBackUnpaid={checkout === 'left'} />}
      <div className="grid items-start gap-6 xl:grid-cols-2">
        <div className="min-w-0 space-y-6">
          <BalanceCard />
          <TopUpCard />
        </div>
        <SettingsCard />
      </div>
      <OrdersCard />
      <ReceiptsCard />
    </Page>
  );
}
