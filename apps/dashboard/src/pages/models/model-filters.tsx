import { type ModelAnswer, privacyClasses } from '@sotto/wire';
import clsx from 'clsx';
import { SlidersHorizontal } from 'lucide-react';
import { useId, useState } from 'react';
import { formatCompact, formatPrice } from '../../format/format.ts';
import { tiers } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ChipChoices } from '../../ui/choices.tsx';
import { SearchField } from '../../ui/draft-fields.tsx';
import { type Choice, SelectField } from '../../ui/field.tsx';
import { abilityNames, providersOf, typeNames } from './figures.ts';
import {
  abilities,
  abilitiesOf,
  filtersIn,
  type ModelSearch,
  type ModelSort,
  modelSorts,
  modelTypes,
} from './model-search.ts';

interface ModelFiltersProps {
  readonly models: readonly ModelAnswer[];
  readonly search: ModelSearch;
  readonly onChange: (search: ModelSearch) => void;
}

const priceSteps = [0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const contextSteps = [8_000, 32_000, 64_000, 128_000, 200_000, 1_000_000];

/** The filters of the list. On narrow screens all but the search field are behind a button. */
export function ModelFilters({ models, search, onChange }: ModelFiltersProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const count = filtersIn(search);
  const providers = providersOf(models.flatMap(({ provider_routes }) => provider_routes)).toSorted();
  return (
    <div className="space-y-2">
      <div className="flex flex-wrap gap-2">
        <SearchField
          label="Search by name or id"
          value={search.q ?? ''}
          onChange={(typed) => onChange({ ...search, q: typed === '' ? undefined : typed })}
          className="min-w-0 flex-1 basis-56"
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
        <div className={clsx(!isOpen && 'max-md:hidden', 'max-md:order-last max-md:w-full')}>
          <ChipChoices
            legend="Must support"
            chosen={abilitiesOf(search.can)}
            choices={abilities.map((ability) => ({ value: ability, label: abilityNames[ability] }))}
            onChange={(can) => onChange({ ...search, can: can.length === 0 ? undefined : can.join() })}
          />
        </div>
        {count > 0 && (
          <Button look="quiet" onClick={() => onChange({ q: search.q, sort: search.sort, compare: search.compare })}>
            Clear filters
          </Button>
        )}
      </div>
      <div id={id} className={clsx('grid grid-cols-2 gap-2 md:grid-cols-3 lg:grid-cols-6', !isOpen && 'max-md:hidden')}>
        <Select
          label="Type"
          any="Any type"
          value={search.type}
          values={modelTypes}
          nameOf={(type) => typeNames[type]}
          onChange={(type) => onChange({ ...search, type })}
        />
        <Select
          label="Privacy tier"
          any="Any tier"
          value={search.tier}
          values={privacyClasses}
          nameOf={(tier) => (tier === 'e2ee' ? tiers[tier].name : `${tiers[tier].name} or stronger`)}
          onChange={(tier) => onChange({ ...search, tier })}
        />
        <Select
          label="Provider"
          any="Any provider"
          value={search.provider}
          values={providers}
          nameOf={(provider) => provider}
          onChange={(provider) => onChange({ ...search, provider })}
        />
        <Select
          label="Input price"
          any="Any price"
          value={search.price}
          values={priceSteps}
          nameOf={(usd) => `Up to ${formatPrice(usd)} / M`}
          onChange={(price) => onChange({ ...search, price })}
        />
        <Select
          label="Context"
          any="Any context"
          value={search.context}
          values={contextSteps}
          nameOf={(tokens) => `${formatCompact(tokens)} or more`}
          onChange={(context) => onChange({ ...search, context })}
        />
        <Select
          label="Sort by"
          value={search.sort ?? 'name'}
          values={modelSorts}
          nameOf={(sort) => sortNames[sort]}
          onChange={(sort) => onChange({ ...search, sort: sort === 'name' ? undefined : sort })}
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
      hideLabel
      value={value === undefined ? '' : String(value)}
      choices={any === undefined ? choices : [{ value: '', label: any }, ...choices]}
      onChange={(chosen) => onChange(listed.find((one) => String(one) === chosen))}
    />
  );
}

const sortNames: Readonly<Record<ModelSort, string>> = {
  name: 'By name',
  input: 'Cheapest input',
  output: 'Cheapest output',
  context: 'Longest context',
  speed: 'Fastest',
  uptime: 'Best uptime',
};
