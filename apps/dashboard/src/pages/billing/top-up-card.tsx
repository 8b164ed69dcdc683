import { type BillingCatalog, type RailName, railNames } from '@sotto/wire';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { newFormId } from '../../api/form-id.ts';
import { useChange } from '../../api/use-change.ts';
import { formatUsd } from '../../format/money.ts';
import { Button } from '../../ui/button.tsx';
import { CheckField } from '../../ui/check-field.tsx';
import { RadioCards } from '../../ui/field.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, EmptyState, ErrorState } from '../../ui/surface.tsx';
import { billingCatalogQuery, isOpen, placeOrder } from './billing-queries.ts';
import { railWords } from './order-words.ts';

export function TopUpCard() {
  const { data: catalog, error, refetch } = useQuery(billingCatalogQuery);
  if (error !== null && catalog === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (catalog === undefined) return <Loading label="What can be bought is loading" lines={5} />;
  const rails = railNames.filter((rail) => catalog.rails[rail].enabled);
  const [firstRail] = rails;
  const [, middle = catalog.packages[0]] = catalog.packages;
  if (firstRail === undefined || middle === undefined) {
    return (
      <Card title="Top up">
        <EmptyState
          title="Nothing can be bought here"
          text="This deployment has no way to pay switched on. Ask its operator for a balance."
        />
      </Card>
    );
  }
  return <TopUpForm catalog={catalog} rails={rails} first={{ packageId: middle.id, rail: firstRail }} />;
}

interface TopUpFormProps {
  readonly catalog: BillingCatalog;
  readonly rails: readonly RailName[];
  readonly first: { readonly packageId: string; readonly rail: RailName };
}

function TopUpForm({ catalog, rails, first }: TopUpFormProps) {
  const [packageId, setPackageId] = useState(first.packageId);
  const [rail, setRail] = useState(first.rail);
  const [savesCard, setSavesCard] = useState(false);
  // The order that it stands for is placed once, however often it is sent. What is chosen anew is another order.
  const [formId, setFormId] = useState(newFormId);
  const choosing =
    <Value,>(choose: (value: Value) => void) =>
    (value: Value): void => {
      choose(value);
      setFormId(newFormId());
    };
  const router = useRouter();
  const client = useQueryClient();
  const bought = catalog.packages.find(({ id }) => id === packageId);
  const ordering = useChange({
    mutationFn: () =>
      placeOrder({
        package_id: packageId,
        rail,
        form_id: formId,
        ...(rail === 'card' && savesCard ? { save_card: true } : {}),
      }),
    onSuccess: async (order) => {
      // A person who comes back from the checkout without paying, and presses again, goes on with the same order.
      if (!isOpen(order)) setFormId(newFormId());
      await client.invalidateQueries({ queryKey: ['billing'] });
      await client.invalidateQueries({ queryKey: ['balance'] });
      await router.navigate({ to: '/billing', search: { order: order.id } });
      if (order.checkout_url !== undefined) window.location.assign(order.checkout_url);
    },
  });
  return (
    <Card title="Top up" lead={catalog.terms.text}>
      <form
        className="space-y-5"
        onSubmit={(event) => {
          event.preventDefault();
          ordering.mutate();
        }}
      >
        <RadioCards
          legend="Package"
          value={packageId}
          onChange={choosing(setPackageId)}
          choices={catalog.packages.map(({ id, amount, fee, total }) => ({
            value: id,
            label: formatUsd(amount),
            text: `You pay ${formatUsd(total)}${fee === 0 ? '' : ' with the fee'}`,
          }))}
        />
        <RadioCards
          legend="How to pay"
          value={rail}
          onChange={choosing(setRail)}
          choices={rails.map((one) => ({ value: one, label: railWords[one].name, text: railWords[one].text }))}
        />
        {rail === 'card' && (
          <CheckField
            label="Keep my card for auto top-up"
            hint="Stripe keeps it. Without it, nothing is ever charged by itself."
            checked={savesCard}
            onChange={choosing(setSavesCard)}
          />
        )}
        {ordering.isError && (
          <p role="alert" className="text-danger">
            {sentenceOf(ordering.error)}
          </p>
        )}
        <div className="flex flex-wrap items-center gap-4">
          <Button type="submit" look="primary" busy={ordering.isPending}>
            {bought === undefined ? 'Pay' : `Pay ${formatUsd(bought.total)}`}
          </Button>
          {catalog.terms.url !== null && (
            <a href={catalog.terms.url} className="text-sm text-accent underline underline-offset-2">
              Terms
            </a>
          )}
          <p className="text-sm text-muted">
            Up to {formatUsd(catalog.limits.max_per_day)} a day, and a balance of{' '}
            {formatUsd(catalog.limits.max_balance)}.
          </p>
        </div>
      </form>
    </Card>
  );
}
