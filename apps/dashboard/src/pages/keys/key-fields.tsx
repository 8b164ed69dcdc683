import type { KeyAnswer, UpdateKey } from '@sotto/contract/control/keys';
import { useQuery } from '@tanstack/react-query';
import { modelsQuery } from '../../api/queries.ts';
import type { FormFields } from '../../api/use-form.ts';
import { formatUsd } from '../../format/format.ts';
import { autoModelId } from '../../models/model-options.ts';
import { CheckList } from '../../ui/check-list.tsx';
import { DayField } from '../../ui/draft-fields.tsx';
import { TextField } from '../../ui/field.tsx';
import { SwitchField } from '../../ui/toggle-fields.tsx';

/** The fields that a new and an existing key have in common. */
type KeyForm = FormFields<Omit<UpdateKey, 'disabled'>>;

/** The last day on which a key works, where the user is. Empty: it does not expire. */
const lastDayOf = (endsAt: string | null | undefined): string =>
  endsAt == null ? '' : dayOf(new Date(Date.parse(endsAt) - 1));
const dayOf = (at: Date): string =>
  [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, '0')).join('-');

/** The end of a day where the user is. */
function endOf(day: string): string | null {
  if (day === '') return null;
  const start = new Date(`${day}T00:00:00`);
  return new Date(start.getFullYear(), start.getMonth(), start.getDate() + 1).toISOString();
}

interface KeyFieldsProps {
  readonly form: KeyForm;
  /** Shows the fields that only inference keys have. */
  readonly isInference: boolean;
  /** Undefined: a new one. */
  readonly apiKey?: KeyAnswer;
}

/** The fields that are folded away. */
const folded = ['expires_at', 'allowed_models', 'requests_per_minute', 'tokens_per_minute'] as const;

/** The fields for a new and for an existing key. */
export function KeyFields({ form, isInference, apiKey }: KeyFieldsProps) {
  const isOpen = folded.some((field) => form.errorAt(field) !== undefined);
  const expiry = form.choiceOrNull('expires_at', {
    mistake: 'Choose today or a later day. Revoke a key to end it now.',
    accepts: (at) => at == null || at === apiKey?.expires_at || Date.parse(at) > Date.now(),
  });
  const begun = apiKey?.expires_at ?? null;
  const lastDay = (
    <DayField
      label="Last day"
      hint="The key works through this day, in your time zone. Empty: it does not expire."
      error={form.errorAt('expires_at')}
      mayBeEmpty
      value={lastDayOf(expiry.value)}
      // A program may have chosen an hour within the day. Keep it if the user chooses the same day.
      onChange={(day) => expiry.onChange(day === lastDayOf(begun) ? begun : endOf(day))}
    />
  );
  const name = (
    <TextField
      {...form.text('name', { required: true })}
      label="Name"
      hint="The place where you use it, such as “laptop” or “nightly job”. Only people in this workspace see it."
    />
  );
  if (!isInference) {
    return (
      <>
        {name}
        {lastDay}
      </>
    );
  }
  const compatible = form.toggle('openai_compatible');
  const count = { mistake: 'Enter a whole number above 0. Leave it empty for the limit of this deployment.' };
  return (
    <>
      {name}
      <TextField
        {...form.text('credit_limit_usd', {
          // A limit of 0 would be a key that can do nothing.
          accepts: (usd) => usd !== 0,
          mistake: 'Enter an amount above 0, such as 5 or 0.50, at most 1,000,000. Leave it empty for no limit.',
        })}
        label="Limit in USD"
        hint={`The total that it can spend. Empty: only the balance limits it.${apiKey === undefined ? '' : ` Spent so far: ${formatUsd(apiKey.spent_usd)}.`}`}
        placeholder="No limit"
      />
      <TextField
        {...form.text('tag')}
        label="Tag"
        hint="Groups what the key spends, such as a cost centre. Empty: no tag."
        maxLength={100}
      />
      <SwitchField
        {...compatible}
        label="Works with any OpenAI client"
        hint={
          compatible.checked
            ? 'Programs may send the key with the content. The broker then sees both while a request runs, and can link the request to this key. Tickets work, too.'
            : 'The key only gets tickets and never travels with content. Use our client, or request a ticket before each request.'
        }
      />
      <details className="rounded-xl border border-line px-4 py-3" {...(isOpen ? { open: true } : {})}>
        <summary className="cursor-pointer font-medium">Expiry, models and rate limits</summary>
        <div className="mt-4 space-y-5">
          {lastDay}
          <AllowedModels {...form.choiceOrNull('allowed_models')} error={form.errorAt('allowed_models')} />
          <TextField
            {...form.text('requests_per_minute', count)}
            label="Requests per minute"
            placeholder="The limit of this deployment"
          />
          <TextField
            {...form.text('tokens_per_minute', count)}
            label="Tokens per minute"
            placeholder="The limit of this deployment"
          />
        </div>
      </details>
    </>
  );
}

interface AllowedModelsProps {
  /** Null: all models. */
  readonly value: readonly string[] | null;
  readonly error: string | undefined;
  readonly onChange: (chosen: string[] | null) => void;
}

function AllowedModels({ value, error, onChange }: AllowedModelsProps) {
  const { data: models = [] } = useQuery(modelsQuery);
  const chosen = value ?? [];
  // A model that left the catalog can still be unchecked.
  const ids = [...new Set([...chosen, autoModelId, ...models.map(({ id }) => id)])].sort();
  return (
    <CheckList
      legend="Allowed models"
      hint="Requests for other models are refused, and cost nothing. None checked: all models."
      error={error}
      items={ids.map((id) => ({ id, label: id }))}
      isChecked={(id) => chosen.includes(id)}
      onToggle={(id, checked) => {
        const next = checked ? [...chosen, id] : chosen.filter((one) => one !== id);
        onChange(next.length === 0 ? null : next);
      }}
      searchLabel="Search models"
    />
  );
}
