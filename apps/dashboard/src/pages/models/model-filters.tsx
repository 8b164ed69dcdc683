import type { ModelAnswer } from '@sotto/wire';
import { privacyClasses } from '@sotto/wire';
import clsx from 'clsx';
import { SlidersHorizontal } from 'lucide-react';
import { useId, useState } from 'react';
import { formatPrice } from '../../format/money.ts';
import { formatCompact } from '../../format/numbers.ts';
import { tiers } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ChipChoices } from '../../ui/chip-choices.tsx';
import { type Choice, SelectField } from '../../ui/field.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { abilityNames, providersOf, typeNames } from './figures.ts';
import { abilities, abilitiesOf, filtersIn, type ModelSearch, modelSorts, modelTypes } from './model-search.ts';
import { sortNames } from './sort-names.ts';

export interface ModelFiltersProps {
  readonly models: readonly ModelAnswer[];
  readonly search: ModelSearch;
  readonly onChange: (search: ModelSearch) => void;
}

const priceSteps = [0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const contextSteps = [8_000, 32_000, 64_000, 128_000, 200_000, 1_000_000];

/** What narrows the list. On narrow screens all but the text is behind a button. */
export function ModelFilters({ models, search, onChange }: ModelFiltersProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const count = filtersIn(search);
  const providers = providersOf(models.flatMap(({ provider_routes }) => provider_routes)).toSorted();
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap gap-2">
        <SearchField
          label="Search by name or id"
          value={search.q ?? ''}
          onChange={(typed) => onChange({ ...search, q: typed === '' ? undefined : typed })}
          className="min-w-0 flex-1 basis-56 md:max-w-xl"
        />
        <Button
          className="md:hidden"
          aria-expanded={isOpen}
          aria-controls={id}
          icon={<SlidersHorizontal aria-hidden className="size-4" />}
          onClick={() => setOpen(!isOpen)}
        >
          Filters{count === 0 ? '' : ` (${count})`}
        </Button>
        {count > 0 && (
          <Button look="quiet" onClick={() => onChange({ q: search.q, sort: search.sort })}>
            Clear filters
          </Button>
        )}
      </div>
      <div id={id} className={clsx('space-y-4', !isOpen && 'max-md:hidden')}>
        <div className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-5">
          <Select
            label="Type"
            any="Any"
            value={search.type}
            values={modelTypes}
            nameOf={(type) => typeNames[type]}
            onChange={(type) => onChange({ ...search, type })}
          />
          <Select
            label="Privacy tier"
            any="Any"
            value={search.tier}
            values={privacyClasses}
            nameOf={(tier) => (tier === 'e2ee' ? tiers[tier].name : `${tiers[tier].name} or stronger`)}
            onChange={(tier) => onChange({ ...search, tier })}
          />
          <Select
            label="Provider"
            any="Any"
            value={search.provider}
            values={providers}
            nameOf={(provider) => provider}
            onChange={(provider) => onChange({ ...search, provider })}
          />
          <Select
            label="Input price"
            any="Any"
            value={search.price}
            values={priceSteps}
            nameOf={(usd) => `Up to ${formatPrice(usd)} / M`}
            onChange={(price) => onChange({ ...search, price })}
          />
          <Select
            label="Context"
            any="Any"
            value={search.context}
            values={contextSteps}
            nameOf={(tokens) => `${formatCompact(tokens)} or more`}
            onChange={(context) => onChange({ ...search, context })}
          />
          <div className="md:hidden">
            <Select
              label="Sort by"
              value={search.sort ?? 'name'}
              values={modelSorts}
              nameOf={(sort) => sortNames[sort]}
              onChange={(sort) => onChange({ ...search, sort: sort === 'name' ? undefined : sort })}
            />
          </div>
        </div>
        <ChipChoices
          legend="Must support"
          chosen={abilitiesOf(search.can)}
          choices={abilities.map((ability) => ({ value: ability, label: abilityNames[ability] }))}
          onChange={(can) => onChange({ ...search, can: can.length === 0 ? undefined : can.join() })}
        />
      </div>
    </div>
  );
}

interface SelectProps<Value extends string | number> {
  readonly label: string;
  /** The choice that does not narrow. Absent: there is always a value. */
  readonly any?: string;
  readonly value: Value | undefined;
  readonly values: readonly Value[];
  readonly nameOf: (value: Value) => string;
  readonly onChange: (value: Value | undefined) => void;
}

/** A select of values of any kind. A value that came by the address and is none of the list is in it too. */
function Select<Value extends string | number>({ label, any, value, values, nameOf, onChange }: SelectProps<Value>) {
  const listed = value === undefined || values.includes(value) ? values : [...values, value];
  const choices: Choice<string>[] = listed.map((one) => ({ value: String(one), label: nameOf(one) }));
  return (
    <SelectField
      label={label}
      value={value === undefined ? '' : String(value)}
      choices={any === undefined ? choices : [{ value: '', label: any }, ...choices]}
      onChange={(chosen) => onChange(listed.find((one) => String(one) === chosen))}
    />
  );
}
