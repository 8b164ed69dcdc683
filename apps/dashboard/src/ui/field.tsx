import clsx from 'clsx';
import { ChevronDown } from 'lucide-react';
import { type ComponentProps, type ReactNode, useId } from 'react';

const control =
  'w-full rounded-lg border border-line-strong bg-surface px-3 min-h-10 scroll-mt-12 text-text aria-invalid:border-danger disabled:opacity-60';

interface FieldProps {
  readonly label: ReactNode;
  /** Hides the label from view, where a heading of the table or list states it already. */
  readonly hideLabel?: boolean | undefined;
  /** One sentence of help, always there. */
  readonly hint?: ReactNode;
  /** The mistake, and how to correct it. */
  readonly error?: string | undefined;
  readonly className?: string | undefined;
  /** Renders the control with the attributes that link it to label, hint and error. */
  readonly children: (attributes: {
    readonly id: string;
    readonly 'aria-describedby': string | undefined;
    readonly 'aria-invalid': true | undefined;
  }) => ReactNode;
}

/** A labelled control of a form. */
export function Field({ label, hideLabel = false, hint, error, className, children }: FieldProps) {
  const id = useId();
  const described = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`].filter(Boolean);
  return (
    <div className={clsx('space-y-1', className)}>
      <label htmlFor={id} className={hideLabel ? 'sr-only' : 'block text-sm font-medium'}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': described.length === 0 ? undefined : described.join(' '),
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-sm text-muted">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} role="alert" className="text-sm text-danger">
          {error}
        </p>
      )}
    </div>
  );
}

type FieldParts = Pick<FieldProps, 'label' | 'hint' | 'error'>;

export type TextFieldProps = FieldParts & Omit<ComponentProps<'input'>, 'id'>;

export function TextField({ label, hint, error, className, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} className={className}>
      {(attributes) => <input type="text" {...input} {...attributes} className={control} />}
    </Field>
  );
}

type TextAreaFieldProps = FieldParts & Omit<ComponentProps<'textarea'>, 'id'>;

export function TextAreaField({ label, hint, error, className, ...area }: TextAreaFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} className={className}>
      {(attributes) => <textarea rows={3} {...area} {...attributes} className={clsx(control, 'py-2')} />}
    </Field>
  );
}

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly disabled?: boolean;
}

interface SelectFieldProps<Value extends string> extends Omit<FieldProps, 'error' | 'children'> {
  readonly value: Value;
  readonly choices: readonly Choice<Value>[];
  readonly onChange: (value: Value) => void;
  readonly disabled?: boolean;
}

/** One of a list, by the browser's own control. */
export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { label, hideLabel, hint, value, choices, onChange, disabled, className } = props;
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} className={className}>
      {(attributes) => (
        <div className="relative">
          <select
            {...attributes}
            value={value}
            disabled={disabled}
            onChange={(event) => {
              const chosen = choices.find((choice) => choice.value === event.target.value);
              if (chosen !== undefined) onChange(chosen.value);
            }}
            className={clsx(control, 'appearance-none truncate pr-8')}
          >
            {choices.map((choice) => (
              <option key={choice.value} value={choice.value} disabled={choice.disabled}>
                {choice.label}
              </option>
            ))}
          </select>
          <ChevronDown
            aria-hidden
            className="pointer-events-none absolute top-1/2 right-3 size-4 -translate-y-1/2 text-muted"
          />
        </div>
      )}
    </Field>
  );
}

interface RadioCardsProps<Value extends string> {
  readonly legend: string;
  readonly hint?: ReactNode;
  readonly value: Value;
  readonly choices: readonly (Choice<Value> & { readonly text?: ReactNode })[];
  readonly onChange: (value: Value) => void;
  readonly disabled?: boolean;
}

/** One of a few, each with a sentence. */
export function RadioCards<Value extends string>(props: RadioCardsProps<Value>) {
  const { legend, hint, value, choices, onChange, disabled = false } = props;
  const name = useId();
  return (
    <fieldset disabled={disabled} className="min-w-0 space-y-2">
      <legend className="text-sm font-medium">{legend}</legend>
      {hint !== undefined && <p className="text-sm text-muted">{hint}</p>}
      <div className="grid grid-cols-[repeat(auto-fill,minmax(min(13rem,100%),1fr))] gap-2">
        {choices.map((choice) => (
          <label
            key={choice.value}
            className={clsx(
              'flex items-start gap-3 rounded-lg border p-3 has-focus-visible:outline-2 has-focus-visible:outline-accent',
              choice.value === value
                ? 'border-accent bg-accent-soft'
                : 'border-line bg-surface hover:border-line-strong',
              choice.disabled === true && 'opacity-60',
            )}
          >
            <input
              type="radio"
              name={name}
              value={choice.value}
              checked={choice.value === value}
              disabled={choice.disabled}
              onChange={() => onChange(choice.value)}
              className="mt-1.5 shrink-0 accent-accent"
            />
            <span className="min-w-0">
              <span className="block font-medium">{choice.label}</span>
              {choice.text !== undefined && <span className="block text-sm text-muted">{choice.text}</span>}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
