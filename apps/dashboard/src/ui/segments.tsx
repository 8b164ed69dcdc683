import clsx from 'clsx';
import { useId } from 'react';

export interface SegmentsProps<Value extends string> {
  readonly legend: string;
  readonly value: Value;
  readonly choices: readonly { readonly value: Value; readonly label: string }[];
  readonly onChange: (value: Value) => void;
}

/** One of two to four short words, side by side; radio buttons to keyboards and readers. */
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
              'inline-flex min-h-8 cursor-pointer items-center rounded-md px-2.5 text-sm select-none has-focus-visible:outline-2 has-focus-visible:outline-accent',
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
