import clsx from 'clsx';
import { useId } from 'react';

interface ChipChoicesProps<Value extends string> {
  readonly legend: string;
  readonly chosen: readonly Value[];
  readonly choices: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (chosen: readonly Value[]) => void;
}

/** Any of a few choices, as small checkboxes. `chosen` has the order of the choices. */
export function ChipChoices<Value extends string>({ legend, chosen, choices, onChange }: ChipChoicesProps<Value>) {
  return (
    <fieldset className="min-w-0 space-y-1">
      <legend className="sr-only">{legend}</legend>
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

interface SegmentsProps<Value extends string> {
  readonly legend: string;
  readonly value: Value;
  readonly choices: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (value: Value) => void;
}

/** One of two to four short words, as radio buttons side by side. */
export function Segments<Value extends string>({ legend, value, choices, onChange }: SegmentsProps<Value>) {
  const name = useId();
  return (
    <fieldset className="inline-flex min-w-0 items-center gap-2">
      <legend className="sr-only">{legend}</legend>
      <span aria-hidden className="text-sm text-muted">
        {legend}
      </span>
      <span className="inline-flex rounded-lg border border-line-strong bg-surface p-0.5">
        {choices.map((choice) => (
          <label
            key={choice.value}
            className={clsx(
              'inline-flex min-h-8 cursor-pointer items-center rounded-md px-1.5 text-sm select-none sm:px-2.5 has-focus-visible:outline-2 has-focus-visible:outline-accent',
              choice.value === value ? 'bg-accent-soft font-medium text-accent-strong' : 'text-muted hover:text-text',
            )}
          >
            <input
              type="radio"
              name={name}
              value={choice.value}
              checked={choice.value === value}
              onChange={() => onChange(choice.value)}
              className="sr-only"
            />
            {choice.label}
          </label>
        ))}
      </span>
    </fieldset>
  );
}
