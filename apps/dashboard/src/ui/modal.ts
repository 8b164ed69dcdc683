import { useRef } from 'react';

/** The classes of the layer between the page and a dialog. */
export const overlay = 'fixed inset-0 z-50 bg-black/45 backdrop-blur-[1px]';
/** The classes of a dialog, except its width. */
export const panel =
  'fixed z-50 inset-x-0 bottom-0 max-h-[92dvh] overflow-y-auto rounded-t-2xl border border-line bg-surface p-5 shadow-xl sm:inset-auto sm:left-1/2 sm:top-1/2 sm:w-full sm:-translate-x-1/2 sm:-translate-y-1/2 sm:rounded-2xl sm:p-6';

/**
 * Returns the focus to the element that had it when a dialog opened, or to the page's content if that element is gone.
 * Radix does so only for dialogs with a trigger of their own.
 */
export function useFocusReturn() {
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
