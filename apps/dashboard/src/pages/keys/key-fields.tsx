import { TextField } from '../../ui/field.tsx';
import { SwitchField } from '../../ui/switch-field.tsx';

/** Fields that making and changing a key have in common; USD as typed. */
export interface KeyDraft {
  readonly name: string;
  readonly limit: string;
  readonly isCompatible: boolean;
}

export interface KeyFieldsProps {
  readonly draft: KeyDraft;
  readonly onChange: (draft: KeyDraft) => void;
  readonly errors: { readonly name?: string | undefined; readonly limit?: string | undefined };
  /** What only inference keys have. */
  readonly isInference: boolean;
  readonly spent?: string;
}

export function KeyFields({ draft, onChange, errors, isInference, spent }: KeyFieldsProps) {
  return (
    <>
      <TextField
        label="Name"
        hint="Where it is used, such as “laptop” or “nightly job”. Only people in this workspace see it."
        error={errors.name}
        value={draft.name}
        maxLength={100}
        required
        autoComplete="off"
        onChange={(event) => onChange({ ...draft, name: event.target.value })}
      />
      {isInference && (
        <>
          <TextField
            label="Limit in USD"
            hint={`All that it may ever spend. Empty: no limit but the balance.${spent === undefined ? '' : ` Spent so far: ${spent}.`}`}
            error={errors.limit}
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
                ? 'The key may be sent with the content. The broker then sees both together while a request runs, so such requests can be linked to this key. Tickets work as well.'
                : 'The key mints tickets only, and never meets content. It takes our client, or a call for a ticket before each request.'
            }
            checked={draft.isCompatible}
            onChange={(isCompatible) => onChange({ ...draft, isCompatible })}
          />
        </>
      )}
    </>
  );
}

export const limitMistake = 'Write an amount in USD such as 5 or 0.50, at most 1,000,000, or leave it empty.';
