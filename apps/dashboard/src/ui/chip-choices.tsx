import clsx from 'clsx';

export interface ChipChoicesProps<Value extends string> {
  readonly legend: string;
  readonly chosen: readonly Value[];
  readonly choices: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (chosen: readonly Value[]) => void;
}

/** Any of a few: checkboxes that take little room. The order of what is chosen is that of the choices. */
export function ChipChoices<Value extends string>({ legend, chosen, choices, onChange }: ChipChoicesProps<Value>) {
  return (
    <fieldset className="min-w-0 space-y-1">
      <legend className="text-sm font-medium">{legend}</legend>
      <div className="flex flex-wrap gap-2">
        {choices.map(({ value, label }) => {
          const isChosen = chosen.includes(value);
          return (
            <label
              key={value}
              className={clsx(
                'inline-flex min-h-10 cursor-pointer items-center gap-2 rounded-lg border px-3 text-sm select-none has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
                isChosen ? 'border-accent bg-accent-soft text-accent-strong' : 'border-line-strong bg-surface',
              )}
            >
              <input
                type="checkbox"
                checked={isChosen}
                onChange={() =>
                  onChange(
                    choices
                      .map((choice) => choice.value)
                      .filter((one) => (one === value ? !isChosen : chosen.includes(one))),
                  )
                }
                className="accent-accent"
              />
              {label}
            </label>
          );
        })}
      </div>
    </fieldset>
  );
}
