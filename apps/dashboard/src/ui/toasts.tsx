import { createContext, type ReactNode, use, useCallback, useState } from 'react';
import { sentenceOf } from '../api/errors.ts';
import { usePart } from './lazy-page.ts';
import type { Announcement, ShownToast } from './toast-list.tsx';

const Announce = createContext<(announcement: Announcement) => void>(() => {});

/** Returns a function that shows a toast, which screen readers read out. */
export const useAnnounce = (): ((announcement: Announcement) => void) => use(Announce);

/** Returns a function that shows an error as a toast. */
export function useAnnounceError(): (error: unknown) => void {
  const announce = useAnnounce();
  return (error) => announce({ tone: 'danger', text: sentenceOf(error) });
}

const loadList = () => import('./toast-list.tsx');

export function Toasts({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<readonly ShownToast[]>([]);
  const announce = useCallback((announcement: Announcement) => {
    setShown((before) => [...before.slice(-2), { ...announcement, id: crypto.randomUUID() }]);
  }, []);
  const list = usePart(loadList);
  return (
    <Announce value={announce}>
      {children}
      {list !== undefined && (
        <list.ToastList shown={shown} onClose={(id) => setShown((before) => before.filter((one) => one.id !== id))} />
      )}
    </Announce>
  );
}
