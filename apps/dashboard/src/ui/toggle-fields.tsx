import clsx from 'clsx';
import { Switch } from 'radix-ui';
import { type ReactNode, useId } from 'react';

interface ToggleProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

interface CheckFieldProps extends ToggleProps {
  /** It is one of several, and an error about them is shown. */
  readonly isInvalid?: boolean;
}

/** A yes or no within a form. A setting that takes effect at once is a `SwitchField`. */
export function CheckField({ label, hint, checked, onChange, disabled = false, isInvalid = false }: CheckFieldProps) {
  const id = useId();
  return (
    <div className="flex gap-3">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-invalid={isInvalid || undefined}
        onChange={(event) => onChange(event.target.checked)}
        {...(hint === undefined ? {} : { 'aria-describedby': `${id}-hint` })}
        className="mt-1 size-4 shrink-0 accent-accent"
      />
      <div className="min-w-0">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-sm text-muted">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

/** A setting that is on or off. */
export function SwitchField({ label, hint, checked, onChange, disabled = false }: ToggleProps) {
  const id = useId();
  return (
    <div className="flex items-start justify-between gap-4">
      <div className="min-w-0">
        <label htmlFor={id} className="block text-sm font-medium">
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-sm text-muted">
            {hint}
          </p>
        )}
      </div>
      <Switch.Root
        id={id}
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        {...(hint === undefined ? {} : { 'aria-describedby': `${id}-hint` })}
        className={clsx(
          'relative h-6 w-11 shrink-0 rounded-full border transition-colors disabled:opacity-55',
          checked ? 'border-accent bg-accent' : 'border-line-strong bg-raised',
        )}
      >
        <Switch.Thumb className="block size-4.5 translate-x-0.5 rounded-full bg-line-strong transition-transform data-[state=checked]:translate-x-5.5 data-[state=checked]:bg-on-accent" />
      </Switch.Root>
    </div>
  );
}
