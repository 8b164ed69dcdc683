import type { BillingCatalog } from '@sotto/contract/control/billing';
import type { RailName } from '@sotto/contract/control/orders';
import { railNames } from '@sotto/contract/control/rail-names';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { billingCatalogQuery } from '../../api/queries.ts';
import { useForm } from '../../api/use-form.ts';
import { formatUsd } from '../../format/format.ts';
import { linkClass } from '../../ui/button.tsx';
import { RadioCards } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, EmptyState, Loaded } from '../../ui/surface.tsx';
import { CheckField } from '../../ui/toggle-fields.tsx';
import { isOpen, railWords } from './billing.ts';

export function TopUpCard() {
  return (
    <Loaded query={useQuery(billingCatalogQuery)} label="Top-ups are loading" lines={5}>
      {(catalog) => <TopUp catalog={catalog} />}
    </Loaded>
  );
}

function TopUp({ catalog }: { catalog: BillingCatalog }) {
  const rails = railNames.filter((rail) => catalog.rails[rail].enabled);
  const [firstRail] = rails;
  const [, middle = catalog.packages[0]] = catalog.packages;
  if (firstRail === undefined || middle === undefined) {
    return (
      <Card title="Top up">
        <EmptyState
          title="No top-ups here"
          text="This deployment does not offer a payment method. Ask its operator for balance."
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
  // The service places one order per form id, however often it is sent. Another choice is another order.
  const [formId, setFormId] = useState(newFormId);
  const router = useRouter();
  const client = useQueryClient();
  const form = useForm('POST /v1/billing/orders', {
    start: { package_id: first.packageId, rail: first.rail },
    rest: { form_id: formId },
    onSuccess: async (order) => {
      // A user who comes back from the checkout without paying, and presses again, continues the same order.
      if (!isOpen(order)) setFormId(newFormId());
      await client.invalidateQueries({ queryKey: ['billing'] });
      await client.invalidateQueries({ queryKey: ['balance'] });
      await router.navigate({ to: '/billing', search: { order: order.id } });
      if (order.checkout_url !== undefined) window.location.assign(order.checkout_url);
    },
  });
  const choosing = <Value,>({ value, onChange }: { value: Value; onChange: (value: Value) => void }) => ({
    value,
    onChange: (chosen: Value): void => {
      onChange(chosen);
      setFormId(newFormId());
    },
  });
  const packages = choosing(form.choice('package_id'));
  const rail = choosing(form.choice('rail'));
  const bought = catalog.packages.find(({ id }) => id === packages.value);
  return (
    <Card title="Top up" lead={catalog.terms.text}>
      <Form
        form={form}
        action={bought === undefined ? 'Pay' : `Pay ${formatUsd(bought.total)}`}
        beside={
          <>
            {catalog.terms.url !== null && (
              <a href={catalog.terms.url} className={`text-sm ${linkClass}`}>
                Terms
              </a>
            )}
            <p className="text-sm text-muted">
              Up to {formatUsd(catalog.limits.max_per_day)} a day, and a balance of{' '}
              {formatUsd(catalog.limits.max_balance)}.
            </p>
          </>
        }
        className="space-y-5"
      >
        <RadioCards
          {...packages}
          legend="Package"
          choices={catalog.packages.map(({ id, amount, fee, total }) => ({
            value: id,
            label: formatUsd(amount),
            text: `You pay ${formatUsd(total)}${fee === 0 ? '' : ' with the fee'}`,
          }))}
        />
        <RadioCards
          {...rail}
          legend="How to pay"
          choices={rails.map((one) => ({ value: one, label: railWords[one].name, text: railWords[one].text }))}
        />
        {rail.value === 'card' && <KeepCard {...choosing(form.choiceOrNull('save_card'))} />}
      </Form>
    </Card>
  );
}

const newFormId = (): string => crypto.randomUUID();

interface KeepCardProps {
  readonly value: boolean | null;
  readonly onChange: (keeps: boolean) => void;
}

const KeepCard = ({ value, onChange }: KeepCardProps) => (
  <CheckField
    label="Keep my card for auto top-up"
    hint="Stripe stores it. Without it, you are never charged automatically."
    checked={value === true}
    onChange={onChange}
  />
);
