import type { KeyAnswer, LockableField, UpdateKey } from '@sotto/contract/control/keys';
import type { WorkspacePolicyAnswer } from '@sotto/contract/control/policies';
import { matchesAny } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { modelsQuery, policyQuery } from '../../api/queries.ts';
import type { FormFields } from '../../api/use-form.ts';
import { dayMs } from '../../format/days.ts';
import { formatExactUsd, formatInstant, formatLastDay, formatUsd } from '../../format/format.ts';
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
  readonly workspaceId: string;
  /** Shows the fields that only inference keys have. */
  readonly isInference: boolean;
  /** Undefined: a new one. */
  readonly apiKey?: KeyAnswer;
  /** The user may change what an admin set. */
  readonly isAdmin: boolean;
}

/** The fields that are folded away. */
const folded = ['expires_at', 'allowed_models', 'requests_per_minute', 'tokens_per_minute'] as const;

/** When a policy ends a key at the latest, in Unix ms. */
const latestEnd = (policy: WorkspacePolicyAnswer | undefined, apiKey: KeyAnswer | undefined): number =>
  policy?.max_key_days == null
    ? Number.POSITIVE_INFINITY
    : (apiKey === undefined ? Date.now() : Date.parse(apiKey.created_at)) + policy.max_key_days * dayMs;

/** The fields for a new and for an existing key, within the workspace's policy. */
export function KeyFields({ form, workspaceId, isInference, apiKey, isAdmin }: KeyFieldsProps) {
  const { data: policy } = useQuery(policyQuery(workspaceId));
  const isOpen = folded.some((field) => form.errorAt(field) !== undefined);
  const isLocked = (field: LockableField): boolean => !isAdmin && apiKey?.locked.includes(field) === true;
  const name = (
    <TextField
      {...form.text('name', { required: true })}
      label="Name"
      hint="The place where you use it, such as “laptop” or “nightly job”. Only people in this workspace see it."
    />
  );
  const lastDay = isLocked('expires_at') ? (
    <SetByAdmin label="Last day" value={apiKey?.expires_at == null ? 'None' : formatLastDay(apiKey.expires_at)} />
  ) : (
    <LastDay {...{ form, apiKey }} latest={latestEnd(policy, apiKey)} />
  );
  if (!isInference) {
    return (
      <>
        {name}
        {lastDay}
      </>
    );
  }
  const count = { mistake: 'Enter a whole number above 0. Leave it empty for the limit of this deployment.' };
  const most = policy?.max_key_limit_usd ?? undefined;
  return (
    <>
      {name}
      {isLocked('credit_limit_usd') ? (
        <SetByAdmin label="Limit ($)" value={formatUsd(apiKey?.credit_limit_usd ?? 0)} />
      ) : (
        <TextField
          {...form.text('credit_limit_usd', {
            // A limit of 0 would be a key that can do nothing.
            accepts: (usd) => usd !== 0 && (usd == null || most === undefined || usd <= most),
            mistake: `Enter an amount above 0, such as 5 or 0.50, at most ${most === undefined ? '1,000,000' : formatExactUsd(most)}. Leave it empty for ${most === undefined ? 'no limit' : formatExactUsd(most)}.`,
          })}
          label="Limit ($)"
          hint={`The total that it can spend. ${most === undefined ? 'Empty: only the balance limits it.' : `At most ${formatExactUsd(most)}, by the workspace’s policy.`}${apiKey === undefined ? '' : ` Spent so far: ${formatUsd(apiKey.spent_usd)}.`}`}
          placeholder={most === undefined ? 'No limit' : formatExactUsd(most)}
        />
      )}
      {isLocked('tag') ? <SetByAdmin label="Tag" value={apiKey?.tag ?? ''} /> : <TagField form={form} />}
      {isLocked('openai_compatible') ? (
        <SetByAdmin label="Works with any OpenAI client" value="No: it only gets tickets" />
      ) : (
        <Compatibility form={form} isAllowed={policy?.openai_compatible !== false} />
      )}
      <details className="rounded-xl border border-line px-4 py-3" {...(isOpen ? { open: true } : {})}>
        <summary className="cursor-pointer font-medium">Expiry, models and rate limits</summary>
        <div className="mt-4 space-y-5">
          {lastDay}
          {isLocked('allowed_models') ? (
            <SetByAdmin label="Allowed models" value={apiKey?.allowed_models?.join(', ') ?? ''} />
          ) : (
            <AllowedModels
              {...form.choiceOrNull('allowed_models')}
              error={form.errorAt('allowed_models')}
              within={policy?.allowed_models ?? undefined}
            />
          )}
          {isLocked('requests_per_minute') ? (
            <SetByAdmin label="Requests per minute" value={String(apiKey?.requests_per_minute)} />
          ) : (
            <TextField
              {...form.text('requests_per_minute', count)}
              label="Requests per minute"
              placeholder="The limit of this deployment"
            />
          )}
          {isLocked('tokens_per_minute') ? (
            <SetByAdmin label="Tokens per minute" value={String(apiKey?.tokens_per_minute)} />
          ) : (
            <TextField
              {...form.text('tokens_per_minute', count)}
              label="Tokens per minute"
              placeholder="The limit of this deployment"
            />
          )}
        </div>
      </details>
    </>
  );
}

export const TagField = ({ form }: { readonly form: Pick<KeyForm, 'text'> }) => (
  <TextField
    {...form.text('tag')}
    label="Tag"
    hint="Groups what the key spends and has spent, such as a cost centre. A budget can limit it. Empty: no tag."
    maxLength={100}
  />
);

const SetByAdmin = ({ label, value }: { label: string; value: string }) => (
  <div className="space-y-1">
    <p className="text-sm font-medium">{label}</p>
    <p className="wrap-anywhere">{value}</p>
    <p className="text-sm text-muted">An admin of this workspace set this. Only admins can change it.</p>
  </div>
);

interface LastDayProps extends Pick<KeyFieldsProps, 'form'> {
  readonly apiKey: KeyAnswer | undefined;
  /** Unix ms. */
  readonly latest: number;
}

function LastDay({ form, apiKey, latest }: LastDayProps) {
  const isBound = latest !== Number.POSITIVE_INFINITY;
  const expiry = form.choiceOrNull('expires_at', {
    mistake: `Choose today or a later day${isBound ? ', within the workspace’s policy' : ''}. Revoke a key to end it now.`,
    accepts: (at) =>
      at == null || at === apiKey?.expires_at || (Date.parse(at) > Date.now() && Date.parse(at) <= latest),
  });
  const begun = apiKey?.expires_at ?? null;
  return (
    <DayField
      label="Last day"
      hint={
        isBound
          ? `The key works through this day, in your time zone. The workspace’s policy ends it on ${formatInstant(new Date(latest).toISOString())} at the latest.`
          : 'The key works through this day, in your time zone. Empty: it does not expire.'
      }
      error={form.errorAt('expires_at')}
      mayBeEmpty
      value={lastDayOf(expiry.value)}
      // A program may have chosen an hour within the day. Keep it if the user chooses the same day.
      onChange={(day) => expiry.onChange(day === lastDayOf(begun) ? begun : endOf(day))}
    />
  );
}

function Compatibility({ form, isAllowed }: Pick<KeyFieldsProps, 'form'> & { readonly isAllowed: boolean }) {
  const label = 'Works with any OpenAI client';
  // A switch that is not shown is not sent, so a new key gets what the policy allows.
  if (!isAllowed) {
    return (
      <div className="space-y-1">
        <p className="text-sm font-medium">{label}</p>
        <p className="text-sm text-muted">
          No: the workspace’s policy allows only tickets. The key never travels with content.
        </p>
      </div>
    );
  }
  const compatible = form.toggle('openai_compatible');
  return (
    <SwitchField
      {...compatible}
      label={label}
      hint={
        compatible.checked
          ? 'Programs may send the key with the content. The broker then sees both while a request runs, and can link the request to this key. Tickets work, too.'
          : 'The key only gets tickets and never travels with content. Use our client, or request a ticket before each request.'
      }
    />
  );
}

interface AllowedModelsProps {
  /** Null: all models. */
  readonly value: readonly string[] | null;
  readonly error: string | undefined;
  readonly onChange: (chosen: string[] | null) => void;
  /** The patterns of the workspace's policy. Undefined: all models. */
  readonly within: readonly string[] | undefined;
}

function AllowedModels({ value, error, onChange, within }: AllowedModelsProps) {
  const { data: models = [] } = useQuery(modelsQuery);
  const chosen = value ?? [];
  const offered = models.map(({ id }) => id).filter((id) => within === undefined || matchesAny(within, id));
  // A model that left the catalog can still be unchecked.
  const ids = [...new Set([...chosen, autoModelId, ...offered])].sort();
  const all = within === undefined ? 'all models' : `all that the workspace’s policy allows (${within.join(', ')})`;
  return (
    <CheckList
      legend="Allowed models"
      hint={`Requests for other models are refused, and cost nothing. None checked: ${all}.`}
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
