import clsx from 'clsx';
import { X } from 'lucide-react';
import { AlertDialog, Dialog as RadixDialog } from 'radix-ui';
import { type ReactNode, useRef } from 'react';
import { Button, IconButton } from './button.tsx';

const overlay = 'fixed inset-0 z-40 bg-black/45 backdrop-blur-[1px]';
const panel =
  'fixed z-50 inset-x-0 bottom-0 max-h-[92dvh] overflow-y-auto rounded-t-2xl border border-line bg-surface p-5 shadow-xl sm:inset-auto sm:left-1/2 sm:top-1/2 sm:w-full sm:-translate-x-1/2 sm:-translate-y-1/2 sm:rounded-2xl sm:p-6';

/**
 * Gives the focus back to whatever had it when a dialog opened; where that is gone, to the page's content. Radix does so
 * for dialogs with a button of their own only.
 */
function useFocusReturn() {
  const opener = useRef<Element>(null);
  return {
    onOpenAutoFocus: () => {
      opener.current = document.activeElement;
    },
    onCloseAutoFocus: (event: Event) => {
      event.preventDefault();
      const target = opener.current?.isConnected === true ? opener.current : document.getElementById('content');
      if (target instanceof HTMLElement) target.focus({ preventScroll: true });
    },
  };
}

export interface DialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** Something that needs attention before the page goes on. Escape and a press outside close it. */
export function Dialog({ open, onOpenChange, title, description, wide = false, children }: DialogProps) {
  const focusReturn = useFocusReturn();
  return (
    <RadixDialog.Root open={open} onOpenChange={onOpenChange}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={overlay} />
        <RadixDialog.Content
          {...focusReturn}
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

export interface ConfirmDialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  /** What will happen, and that it cannot be taken back where it cannot. */
  readonly consequence: ReactNode;
  /** The verb of the deed. */
  readonly action: string;
  readonly busy?: boolean;
  /** Closes nothing by itself: whoever asked closes when the deed is done. */
  readonly onConfirm: () => void;
  readonly error?: string | undefined;
}

/** Asks before what cannot be undone. The safe answer has the focus. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { open, onOpenChange, title, consequence, action, busy = false, onConfirm, error } = props;
  const focusReturn = useFocusReturn();
  return (
    <AlertDialog.Root open={open} onOpenChange={onOpenChange}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={overlay} />
        <AlertDialog.Content {...focusReturn} className={clsx(panel, 'sm:max-w-md')}>
          <AlertDialog.Title className="text-lg font-semibold">{title}</AlertDialog.Title>
          <AlertDialog.Description asChild>
            <div className="mt-2 text-muted">{consequence}</div>
          </AlertDialog.Description>
          {error !== undefined && (
            <p role="alert" className="mt-3 text-sm text-danger">
              {error}
            </p>
          )}
          <div className="mt-6 flex flex-wrap justify-end gap-2">
            <AlertDialog.Cancel asChild>
              <Button>Cancel</Button>
            </AlertDialog.Cancel>
            <Button look="danger" busy={busy} onClick={onConfirm}>
              {action}
            </Button>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
