import { Search } from 'lucide-react';
import { useEffect, useState } from 'react';
import { usePart } from '../ui/lazy-page.ts';
import { type MenuPage, slashShortcut } from './navigation.ts';

const loadPalette = () => import('./palette.tsx');

const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

interface PaletteButtonProps {
  /** The pages that the user sees. */
  readonly pages: readonly MenuPage[];
  readonly isSignedIn: boolean;
}

/**
 * Opens the command palette, also by Ctrl+K or ⌘K. The key `/` goes to the search field of the page, or else to the palette.
 * Neither does anything while a dialog is open.
 */
export function PaletteButton({ pages, isSignedIn }: PaletteButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const [isNear, setNear] = useState(false);
  const palette = usePart(loadPalette, isOpen || isNear);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.altKey || document.querySelector('[role=dialog], [role=alertdialog]') !== null) return;
      const hasCommand = event.ctrlKey || event.metaKey;
      if (hasCommand && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setOpen(true);
      } else if (!hasCommand && event.key === '/' && slashShortcut.isOn() && !isTyping(event.target)) {
        event.preventDefault();
        const field = document.querySelector<HTMLInputElement>('main input[type=search]');
        if (field === null) setOpen(true);
        else field.focus();
      }
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <>
      <button
        type="button"
        aria-keyshortcuts={isApple ? 'Meta+K' : 'Control+K'}
        title="Search and commands"
        onClick={() => setOpen(true)}
        onPointerEnter={() => setNear(true)}
        onFocus={() => setNear(true)}
        className="inline-flex min-h-9 items-center gap-2 rounded-lg px-2 text-sm text-muted hover:bg-raised hover:text-text md:border md:border-line"
      >
        <Search aria-hidden className="size-4.5 md:size-4" />
        <span className="max-md:sr-only">
          Search<span className="sr-only"> and commands</span>
        </span>
        <kbd className="rounded border border-line px-1 font-sans text-xs max-md:hidden">
          {isApple ? '⌘K' : 'Ctrl K'}
        </kbd>
      </button>
      {isOpen && palette !== undefined && (
        <palette.Palette pages={pages} isSignedIn={isSignedIn} onClose={() => setOpen(false)} />
      )}
    </>
  );
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));
