import clsx from 'clsx';
import { X } from 'lucide-react';
import { Toast } from 'radix-ui';
import { IconButton } from './button.tsx';

export interface Announcement {
  readonly tone?: 'danger';
  readonly text: string;
}

export type ShownToast = Announcement & { readonly id: string };

const shownMs = 6_000;

interface ToastListProps {
  readonly shown: readonly ShownToast[];
  readonly onClose: (id: string) => void;
}

/** The toasts on the screen. */
export function ToastList({ shown, onClose }: ToastListProps) {
  return (
    <Toast.Provider duration={shownMs} swipeDirection="right" label="Messages">
      {shown.map(({ id, tone, text }) => (
        <Toast.Root
          key={id}
          type={tone === 'danger' ? 'foreground' : 'background'}
          onOpenChange={(open) => {
            if (!open) onClose(id);
          }}
          className={clsx(
            'flex items-center gap-2 rounded-xl border bg-surface py-2 pr-2 pl-4 shadow-lg',
            tone === 'danger' ? 'border-danger' : 'border-line-strong',
          )}
        >
          <Toast.Description className="min-w-0 flex-1">{text}</Toast.Description>
          <Toast.Close asChild>
            <IconButton label="Dismiss" icon={<X aria-hidden className="size-4" />} />
          </Toast.Close>
        </Toast.Root>
      ))}
      <Toast.Viewport className="fixed right-4 bottom-4 z-60 flex w-96 max-w-[calc(100vw-2rem)] flex-col gap-2 outline-none" />
    </Toast.Provider>
  );
}
