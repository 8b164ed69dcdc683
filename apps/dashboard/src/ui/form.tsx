import clsx from 'clsx';
import { type ReactNode, useEffect, useRef } from 'react';
import { Button, type ButtonProps } from './button.tsx';
import { Dialog, type DialogProps } from './dialog.tsx';
import { ErrorLine } from './surface.tsx';

/** What `Form` needs of a form; `useForm` returns it. Without a change, the form only asks the page for something. */
interface FormHandle {
  readonly change?: { readonly isPending: boolean; readonly error: unknown };
  readonly submit: () => void;
  /** The fields whose texts were not taken, and why. */
  readonly mistakes?: object;
  /** The sentence that no field shows. Without it, the form shows each error of the change. */
  readonly errorElsewhere?: () => string | undefined;
  /** Forgets what was kept of the form. */
  readonly forget?: () => void;
}

interface FormProps {
  readonly form: FormHandle;
  /** Text of the submit button. */
  readonly action: ReactNode;
  readonly look?: ButtonProps['look'] | undefined;
  readonly disabled?: boolean | undefined;
  /** Something within the form shows the errors that no field shows. */
  readonly showsErrors?: boolean | undefined;
  /** Puts a button that cancels beside the other, as dialogs have it. */
  readonly onCancel?: () => void;
  /** The button is as wide as the form. */
  readonly wide?: boolean;
  /** Shown in one row with the submit button. */
  readonly beside?: ReactNode;
  readonly className?: string;
  readonly children?: ReactNode;
}

/** A form that sends a change, is busy meanwhile, says what went wrong and keeps what was typed. */
export function Form(props: FormProps) {
  const { form, action, look = 'primary', disabled = false, showsErrors = false, onCancel, wide = false } = props;
  const { beside, className = 'space-y-4', children } = props;
  const { change, submit, mistakes, errorElsewhere, forget } = form;
  const element = useRef<HTMLFormElement>(null);
  // The field at fault may be out of sight.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each submission has its own errors
  useEffect(() => {
    const refused = element.current?.querySelector('[aria-invalid="true"]');
    if (refused instanceof HTMLElement) refused.focus();
  }, [change?.error, mistakes]);
  const button = (
    <Button
      type="submit"
      look={look}
      busy={change?.isPending ?? false}
      disabled={disabled}
      className={clsx(wide && (beside === undefined ? 'w-full' : 'flex-1'))}
    >
      {action}
    </Button>
  );
  return (
    <form
      ref={element}
      className={className}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {children}
      {!showsErrors &&
        (errorElsewhere === undefined ? <ErrorLine error={change?.error} /> : <Elsewhere read={errorElsewhere} />)}
      {onCancel !== undefined ? (
        <div className="flex flex-wrap justify-end gap-2">
          <Button
            disabled={change?.isPending ?? false}
            onClick={() => {
              forget?.();
              onCancel();
            }}
          >
            Cancel
          </Button>
          {button}
        </div>
      ) : beside !== undefined ? (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          {button}
          {beside}
        </div>
      ) : (
        button
      )}
    </form>
  );
}

/** Drawn after the fields, which say by then which errors they show. */
function Elsewhere({ read }: { read: () => string | undefined }) {
  const sentence = read();
  return sentence === undefined ? null : (
    <p role="alert" className="text-danger">
      {sentence}
    </p>
  );
}

export interface FormDialogProps
  extends Omit<DialogProps, 'isBusy'>,
    Pick<FormProps, 'form' | 'action' | 'look' | 'disabled' | 'showsErrors'> {}

/** A form in a dialog, which stays open while the form sends its change. */
export function FormDialog({ form, action, look, disabled, showsErrors, children, ...dialog }: FormDialogProps) {
  const parts = { form, action, look, disabled, showsErrors };
  const close = (): void => {
    form.forget?.();
    dialog.onClose();
  };
  return (
    <Dialog {...dialog} onClose={close} isBusy={form.change?.isPending ?? false}>
      <Form {...parts} className="space-y-5" onCancel={dialog.onClose}>
        {children}
      </Form>
    </Dialog>
  );
}
