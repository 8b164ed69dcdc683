import clsx from 'clsx';
import { X } from 'lucide-react';
import { Toast } from 'radix-ui';
import { createContext, type ReactNode, use, useCallback, useState } from 'react';
import { IconButton } from './button.tsx';

export interface Announcement {
  readonly tone?: 'good' | 'danger';
  readonly text: string;
}

const Announce = createContext<(announcement: Announcement) => void>(() => {});

/** Tells what happened without taking the reader's place: a toast, read out to those who listen. */
export const useAnnounce = (): ((announcement: Announcement) => void) => use(Announce);

const shownMs = 6_000;

export function Toasts({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<readonly (Announcement & { readonly id: string })[]>([]);
  const announce = useCallback((announcement: Announcement) => {
    setShown((before) => [...before.slice(-2), { ...announcement, id: crypto.randomUUID() }]);
  }, []);
  return (
    <Announce value={announce}>
      <Toast.Provider duration={shownMs} swipeDirection="right" label="Messages">
        {children}
        {shown.map(({ id, tone = 'good', text }) => (
          <Toast.Root
            key={id}
            type={tone === 'danger' ? 'foreground' : 'background'}
            onOpenChange={(open) => {
              if (!open) setShown((before) => before.filter((one) => one.id !== id));
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
    </Announce>
  );
}
