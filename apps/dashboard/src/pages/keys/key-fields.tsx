import type { KeyAnswer, UpdateKey } from '@sotto/contract/control/keys';
import { useQuery } from '@tanstack/react-query';
import { errorAt } from '../../api/errors.ts';
import { modelsQuery } from '../../api/queries.ts';
import { readUsd, typedUsd } from '../../format/format.ts';
import { autoModelId } from '../../models/model-options.ts';
import { CheckList } from '../../ui/check-list.tsx';
import { DayField } from '../../ui/draft-fields.tsx';
import { TextField } from '../../ui/field.tsx';
import { SwitchField } from '../../ui/toggle-fields.tsx';

/** The fields for a new and for an existing key. Amounts, counts and the day are the typed texts. */
interface KeyDraft {
  readonly name: string;
  readonly limit: string;
  readonly isCompatible: boolean;
  /** The last day on which it works, where the user is. Empty: it does not expire. */
  readonly lastDay: string;
  /** None: all models. */
  readonly models: readonly string[];
  readonly requests: string;
  readonly tokens: string;
}

/** Returns the draft of a key as it is; of a new key without one. */
export const draftOf = (key?: KeyAnswer): KeyDraft => ({
  name: key?.name ?? '',
  limit: typedUsd(key?.credit_limit_usd),
  isCompatible: key?.openai_compatible ?? true,
  lastDay: key?.expires_at == null ? '' : dayOf(new Date(Date.parse(key.expires_at) - 1)),
  models: key?.allowed_models ?? [],
  requests: shown(key?.requests_per_minute),
  tokens: shown(key?.tokens_per_minute),
});

const shown = (value: number | null | undefined): string => (value == null ? '' : String(value));
const dayOf = (at: Date): string =>
  [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, '0')).join('-');

/** The rules of a key, as the service takes them. */
type KeyRules = Omit<UpdateKey, 'name' | 'disabled'>;
/** Mistakes in a draft, by the service's name for the field. */
export type Mistakes = Readonly<Partial<Record<keyof KeyRules, string>>>;

/** Reads the rules of a draft that differ from those of another draft. */
export function readRules(
  draft: KeyDraft,
  before: KeyDraft,
): { readonly rules: KeyRules; readonly mistakes: Mistakes } {
  const limit = readLimit(draft.limit);
  const [requests, tokens] = [readCount(draft.requests), readCount(draft.tokens)];
  const lastDay = new Date(`${draft.lastDay}T00:00:00`);
  const mistakes: Mistakes = {
    ...(limit === undefined ? { credit_limit_usd: limitMistake } : {}),
    ...(draft.lastDay !== before.lastDay && draft.lastDay !== '' && draft.lastDay < dayOf(new Date())
      ? { expires_at: 'Choose today or a later day. Revoke a key to end it now.' }
      : {}),
    ...(requests === undefined ? { requests_per_minute: countMistake } : {}),
    ...(tokens === undefined ? { tokens_per_minute: countMistake } : {}),
  };
  const has = (field: keyof KeyDraft): boolean => String(draft[field]) !== String(before[field]);
  const rules: KeyRules = {
    ...(has('limit') && limit !== undefined ? { credit_limit_usd: limit } : {}),
    ...(has('isCompatible') ? { openai_compatible: draft.isCompatible } : {}),
    ...(has('lastDay') ? { expires_at: draft.lastDay === '' ? null : endOf(lastDay) } : {}),
    ...(has('models') ? { allowed_models: draft.models.length === 0 ? null : [...draft.models] } : {}),
    ...(has('requests') && requests !== undefined ? { requests_per_minute: requests } : {}),
    ...(has('tokens') && tokens !== undefined ? { tokens_per_minute: tokens } : {}),
  };
  return { rules, mistakes };
}

/** The end of a day where the user is. */
const endOf = (day: Date): string => new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1).toISOString();

/** Reads the typed limit. Null: no limit. Undefined: it is not one. A limit of 0 would be a key that can do nothing. */
const readLimit = (typed: string): number | null | undefined => {
  const usd = readUsd(typed);
  return usd === 0 ? undefined : usd;
};
const limitMistake = 'Enter an amount above 0, such as 5 or 0.50, at most 1,000,000. Leave it empty for no limit.';

const readCount = (typed: string): number | null | undefined => {
  const text = typed.replaceAll(',', '').trim();
  if (text === '') return null;
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
};
const countMistake = 'Enter a whole number above 0. Leave it empty for the limit of this deployment.';

interface KeyFieldsProps {
  readonly draft: KeyDraft;
  readonly onChange: (draft: KeyDraft) => void;
  readonly mistakes: Mistakes;
  /** What the service answered. */
  readonly error: unknown;
  /** Shows the fields that only inference keys have. */
  readonly isInference: boolean;
  readonly spent?: string;
}

/** The fields that are folded away. */
const folded = ['expires_at', 'allowed_models', 'requests_per_minute', 'tokens_per_minute'] as const;

/** The names of the fields that show the service's errors about themselves. */
export const keyFieldNames = ['name', 'credit_limit_usd', ...folded];

export function KeyFields({ draft, onChange, mistakes, error, isInference, spent }: KeyFieldsProps) {
  const errorOf = (field: keyof KeyRules): string | undefined => mistakes[field] ?? errorAt(error, field);
  const isOpen = folded.some((field) => errorOf(field) !== undefined);
  const expiry = (
    <DayField
      label="Last day"
      hint="The key works through this day, in your time zone. Empty: it does not expire."
      error={errorOf('expires_at')}
      value={draft.lastDay}
      onChange={(lastDay) => onChange({ ...draft, lastDay })}
    />
  );
  return (
    <>
      <TextField
        label="Name"
        hint="The place where you use it, such as “laptop” or “nightly job”. Only people in this workspace see it."
        error={errorAt(error, 'name')}
        value={draft.name}
        maxLength={100}
        required
        autoComplete="off"
        onChange={(event) => onChange({ ...draft, name: event.target.value })}
      />
      {!isInference && expiry}
      {isInference && (
        <>
          <TextField
            label="Limit in USD"
            hint={`The total that it can spend. Empty: only the balance limits it.${spent === undefined ? '' : ` Spent so far: ${spent}.`}`}
            error={errorOf('credit_limit_usd')}
            value={draft.limit}
            inputMode="decimal"
            autoComplete="off"
            placeholder="No limit"
            onChange={(event) => onChange({ ...draft, limit: event.target.value })}
          />
          <SwitchField
            label="Works with any OpenAI client"
            hint={
              draft.isCompatible
                ? 'Programs may send the key with the content. The broker then sees both while a request runs, and can link the request to this key. Tickets work, too.'
                : 'The key only gets tickets and never travels with content. Use our client, or request a ticket before each request.'
            }
            checked={draft.isCompatible}
            onChange={(isCompatible) => onChange({ ...draft, isCompatible })}
          />
          <details className="rounded-xl border border-line px-4 py-3" {...(isOpen ? { open: true } : {})}>
            <summary className="cursor-pointer font-medium">Expiry, models and rate limits</summary>
            <div className="mt-4 space-y-5">
              {expiry}
              <AllowedModels
                chosen={draft.models}
                error={errorOf('allowed_models')}
                onChange={(models) => onChange({ ...draft, models })}
              />
              {(['requests', 'tokens'] as const).map((counted) => (
                <TextField
                  key={counted}
                  label={counted === 'requests' ? 'Requests per minute' : 'Tokens per minute'}
                  error={errorOf(`${counted}_per_minute`)}
                  value={draft[counted]}
                  inputMode="numeric"
                  autoComplete="off"
                  placeholder="The limit of this deployment"
                  onChange={(event) => onChange({ ...draft, [counted]: event.target.value })}
                />
              ))}
            </div>
          </details>
        </>
      )}
    </>
  );
}

interface AllowedModelsProps {
  readonly chosen: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (chosen: readonly string[]) => void;
}

function AllowedModels({ chosen, error, onChange }: AllowedModelsProps) {
  const { data: models = [] } = useQuery(modelsQuery);
  // A model that left the catalog can still be unchecked.
  const ids = [...new Set([...chosen, autoModelId, ...models.map(({ id }) => id)])].sort();
  return (
    <CheckList
      legend="Allowed models"
      hint="Requests for other models are refused, and cost nothing. None checked: all models."
      error={error}
      items={ids.map((id) => ({ id, label: id }))}
      isChecked={(id) => chosen.includes(id)}
      onToggle={(id, checked) => onChange(checked ? [...chosen, id] : chosen.filter((one) => one !== id))}
      searchLabel="Search models"
    />
  );
}
