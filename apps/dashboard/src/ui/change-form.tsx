import clsx from 'clsx';
import { type ReactNode, useEffect, useRef } from 'react';
import { errorElsewhere } from '../api/errors.ts';
import { Button, type ButtonProps } from './button.tsx';
import { TextField } from './field.tsx';
import { ErrorLine } from './surface.tsx';

/** How a change stands, as `useChange` returns it. */
export interface ChangeState {
  readonly isPending: boolean;
  readonly error: unknown;
}

export interface FormProps {
  readonly change: ChangeState;
  /** `field` returns what stands in the control of that name. */
  readonly onSubmit: (field: (name: string) => string, form: HTMLFormElement) => void;
  /** Text of the submit button. */
  readonly action: ReactNode;
  readonly look?: ButtonProps['look'];
  readonly disabled?: boolean;
  /**
   * The fields that show the error about themselves, by the service's name for them; the form shows any other error.
   * `inside`: something within the form shows every error.
   */
  readonly errors?: readonly string[] | 'inside';
  /** Puts a button that cancels beside the other, as dialogs have it. */
  readonly onCancel?: () => void;
  /** The button is as wide as the form. */
  readonly wide?: boolean;
  /** Shown in one row with the submit button. */
  readonly beside?: ReactNode;
  /** The form checks its fields itself. */
  readonly noValidate?: boolean;
  readonly className?: string;
  readonly children?: ReactNode;
}

/** A form that sends a change, is busy meanwhile, says what went wrong and keeps what was typed. */
export function Form(props: FormProps) {
  const { change, onSubmit, action, look = 'primary', disabled = false, errors = [], onCancel, wide = false } = props;
  const { beside, noValidate = false, className = 'space-y-4', children } = props;
  const form = useRef<HTMLFormElement>(null);
  // The field that was refused may be out of sight.
  useEffect(() => {
    const refused = change.error && form.current?.querySelector('[aria-invalid="true"]');
    if (refused instanceof HTMLElement) refused.focus();
  }, [change.error]);
  const submit = (
    <Button
      type="submit"
      look={look}
      busy={change.isPending}
      disabled={disabled}
      className={clsx(wide && (beside === undefined ? 'w-full' : 'flex-1'))}
    >
      {action}
    </Button>
  );
  return (
    <form
      ref={form}
      noValidate={noValidate}
      className={className}
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        onSubmit((name) => String(new FormData(form).get(name) ?? ''), form);
      }}
    >
      {children}
      {errors !== 'inside' && <ErrorLine error={change.error} except={errors} />}
      {onCancel !== undefined ? (
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onCancel}>Cancel</Button>
          {submit}
        </div>
      ) : beside !== undefined ? (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          {submit}
          {beside}
        </div>
      ) : (
        submit
      )}
    </form>
  );
}

interface NameFormProps extends Pick<FormProps, 'change' | 'action' | 'look' | 'onCancel'> {
  readonly label: string;
  readonly name?: string;
  readonly autoComplete?: 'name';
  readonly onName: (name: string) => void;
}

/** Asks for a name, of at most 100 characters. */
export function NameForm({ label, name, autoComplete, onName, ...form }: NameFormProps) {
  return (
    <Form {...form} errors="inside" onSubmit={(field) => onName(field('name'))}>
      <TextField
        label={label}
        name="name"
        required
        maxLength={100}
        autoComplete={autoComplete ?? 'off'}
        defaultValue={name}
        error={errorElsewhere(form.change.error)}
      />
    </Form>
  );
}
