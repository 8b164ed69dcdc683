import clsx from 'clsx';
import { X } from 'lucide-react';
import { AlertDialog, Dialog as RadixDialog } from 'radix-ui';
import { type ReactNode, useState } from 'react';
import { type Change, type ChangeOptions, useChange } from '../api/use-change.ts';
import { Button, type ButtonProps, IconButton } from './button.tsx';
import { overlay, panel, useFocusReturn } from './modal.ts';
import { ErrorLine } from './surface.tsx';

export interface DialogProps {
  /** Cancel, Escape or a press outside asks to close it. */
  readonly onClose: () => void;
  /** A change is under way, which cannot be taken back: nothing closes the dialog. */
  readonly isBusy?: boolean;
  readonly title: string;
  readonly description?: ReactNode;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** Takes the focus in place of the button that closes the dialog. */
const firstField = 'input:checked, input:not([type=radio]), select, textarea';

/** A modal dialog. Escape and a press outside close it. */
export function Dialog({ onClose, isBusy = false, title, description, wide = false, children }: DialogProps) {
  const focusReturn = useFocusReturn();
  return (
    <RadixDialog.Root open onOpenChange={(wanted) => !wanted && !isBusy && onClose()}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={overlay} />
        <RadixDialog.Content
          {...focusReturn}
          onOpenAutoFocus={(event) => {
            focusReturn.onOpenAutoFocus();
            const field = (event.currentTarget as HTMLElement).querySelector<HTMLElement>(firstField);
            if (field === null) return;
            event.preventDefault();
            field.focus();
          }}
          className={clsx(panel, wide ? 'sm:max-w-3xl' : 'sm:max-w-lg')}
          {...(description === undefined ? { 'aria-describedby': undefined } : {})}
        >
          <div className="mb-4 flex items-start justify-between gap-4">
            <div>
              <RadixDialog.Title className="text-lg font-semibold">{title}</RadixDialog.Title>
              {description !== undefined && (
                <RadixDialog.Description className="text-sm text-muted">{description}</RadixDialog.Description>
              )}
            </div>
            <RadixDialog.Close asChild>
              <IconButton label="Close" icon={<X aria-hidden className="size-5" />} className="-mt-1 -mr-1" />
            </RadixDialog.Close>
          </div>
          {children}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

/** The dialog that a button opens. */
export type DialogOf = { readonly dialog: (onClose: () => void) => ReactNode };

/** A button that opens a dialog. */
export function DialogButton({ dialog, ...button }: ButtonProps & DialogOf) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen && dialog(() => setOpen(false))}
    </>
  );
}

interface ConfirmDialogProps {
  /** Default: true. */
  readonly open?: boolean;
  /** Cancel, Escape or a press outside asks to close it. */
  readonly onClose: () => void;
  readonly title: string;
  /** The effects, and whether they can be undone. */
  readonly consequence: ReactNode;
  /** The verb on the button. */
  readonly action: string;
  /** The change that `onConfirm` starts: its state and its error are shown. */
  readonly change?: { readonly isPending: boolean; readonly error: unknown };
  /** Does not close the dialog: the caller closes it when the change is done. */
  readonly onConfirm: () => void;
}

/** Asks before a change that cannot be undone. Cancel has the focus. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { open = true, onClose, title, consequence, action, change, onConfirm } = props;
  const focusReturn = useFocusReturn();
  return (
    <AlertDialog.Root open={open} onOpenChange={(wanted) => !wanted && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={overlay} />
        <AlertDialog.Content {...focusReturn} className={clsx(panel, 'sm:max-w-md')}>
          <AlertDialog.Title className="text-lg font-semibold">{title}</AlertDialog.Title>
          <AlertDialog.Description asChild>
            <div className="mt-2 text-muted">{consequence}</div>
          </AlertDialog.Description>
          <ErrorLine error={change?.error} className="mt-3 text-sm" />
          <div className="mt-6 flex flex-wrap justify-end gap-2">
            <AlertDialog.Cancel asChild>
              <Button>Cancel</Button>
            </AlertDialog.Cancel>
            <Button look="danger" busy={change?.isPending ?? false} onClick={onConfirm}>
              {action}
            </Button>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

export interface ConfirmChangeProps<Answer>
  extends Pick<ConfirmDialogProps, 'onClose' | 'title' | 'consequence' | 'action'> {
  readonly change: ChangeOptions<Answer>;
  /** Asks for something that the change needs besides, such as a second factor. */
  readonly proof?: ((change: Change<Answer, void, unknown>) => ReactNode) | undefined;
}

/** Asks before a change that cannot be undone, makes it, and closes when it is done. */
export function ConfirmChange<Answer>({ change, proof, ...dialog }: ConfirmChangeProps<Answer>) {
  const { onSuccess } = change;
  const changing = useChange<Answer>({
    ...change,
    onSuccess: (...done) => {
      dialog.onClose();
      return onSuccess?.(...done);
    },
  });
  // A running change cannot be taken back. When it ended, it would close the dialog that is open by then.
  const close = () => !changing.isPending && dialog.onClose();
  return (
    <>
      <ConfirmDialog {...dialog} onClose={close} change={changing} onConfirm={() => changing.mutate()} />
      {proof?.(changing)}
    </>
  );
}

/** The dialog of an action that asks before its change. */
export const asking = <Answer,>(question: Omit<ConfirmChangeProps<Answer>, 'onClose'>): DialogOf => ({
  dialog: (onClose) => <ConfirmChange {...question} onClose={onClose} />,
});
