import type { ModelAnswer } from '@sotto/wire';
import { privacyClasses } from '@sotto/wire';
import { useState } from 'react';
import { autoOption, modelOptions, requestSortNames } from '../../../models/model-options.ts';
import { Combobox } from '../../../ui/combobox.tsx';
import { SelectField, TextField } from '../../../ui/field.tsx';
import { CheckField } from '../../../ui/toggle-fields.tsx';
import { tierName } from '../boundaries.ts';
import { defaultPromptTokens, needs, type RequestShape, readTokens, requestSorts } from './request-shape.ts';

interface ShapeFormProps {
  readonly shape: RequestShape;
  readonly change: (part: { readonly [field in keyof RequestShape]?: RequestShape[field] | undefined }) => void;
  readonly models: readonly ModelAnswer[];
}

const needNames = { tools: 'Tools', vision: 'Vision', structured_output: 'Structured output' } as const;
const asWorkspace = 'workspace default';

/** Describes the request to preview. It is never sent to a provider. */
export function ShapeForm({ shape, change, models }: ShapeFormProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Combobox
        label="Model"
        className="sm:col-span-2"
        value={shape.model ?? autoOption.value}
        options={[autoOption, ...modelOptions(models)]}
        onChange={(model) => change({ model: model === autoOption.value ? undefined : model })}
      />
      <TokensField
        label="Prompt tokens"
        least={0}
        value={shape.prompt_tokens}
        placeholder={String(defaultPromptTokens)}
        onChange={(count) => change({ prompt_tokens: count })}
      />
      <TokensField
        label="Max output tokens"
        least={1}
        value={shape.max_tokens}
        placeholder="The route’s own"
        onChange={(count) => change({ max_tokens: count })}
      />
      <SelectField
        label="Requested sort"
        value={shape.sort ?? asWorkspace}
        choices={[
          { value: asWorkspace, label: 'None' },
          ...requestSorts.map((sort) => ({ value: sort, label: requestSortNames[sort] })),
        ]}
        onChange={(sort) => change({ sort: sort === asWorkspace ? undefined : sort })}
      />
      <SelectField
        label="Requested privacy"
        value={shape.minimum_privacy ?? asWorkspace}
        choices={[
          { value: asWorkspace, label: 'None' },
          ...privacyClasses.map((tier) => ({ value: tier, label: `${tierName(tier)} or stronger` })),
        ]}
        onChange={(tier) => change({ minimum_privacy: tier === asWorkspace ? undefined : tier })}
      />
      <fieldset className="sm:col-span-2">
        <legend className="mb-1 text-sm font-medium">It needs</legend>
        <div className="flex flex-wrap gap-x-5 gap-y-1">
          {needs.map((need) => (
            <CheckField
              key={need}
              label={needNames[need]}
              checked={shape.needs?.includes(need) ?? false}
              onChange={(checked) => {
                const others = (shape.needs ?? []).filter((one) => one !== need);
                change({ needs: checked ? [...others, need] : others });
              }}
            />
          ))}
        </div>
      </fieldset>
    </div>
  );
}

interface TokensFieldProps {
  readonly label: string;
  readonly least: 0 | 1;
  readonly value: number | undefined;
  readonly placeholder: string;
  readonly onChange: (count: number | undefined) => void;
}

/** Keeps the typed text while it is not a count. */
function TokensField({ label, least, value, placeholder, onChange }: TokensFieldProps) {
  const [typed, setTyped] = useState(value === undefined ? '' : String(value));
  const isWrong = typed.trim() !== '' && readTokens(typed, least) === undefined;
  return (
    <TextField
      label={label}
      inputMode="numeric"
      placeholder={placeholder}
      value={typed}
      error={isWrong ? `A whole number, ${String(least)} or more.` : undefined}
      onChange={(event) => {
        setTyped(event.target.value);
        onChange(readTokens(event.target.value, least));
      }}
    />
  );
}
