import clsx from 'clsx';
import { ChevronDown } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';

interface NarrowFoldProps {
  readonly label: string;
  /** A few words about the content, shown while it is folded. */
  readonly summary: string;
  /** While something in it is missing it is open. It closes once nothing is. */
  readonly isNeeded: boolean;
  readonly className?: string;
  readonly children: ReactNode;
}

/** Shows its content on wide screens, and folds it to a button with its summary on narrow ones. */
export function NarrowFold({ label, summary, isNeeded, className, children }: NarrowFoldProps) {
  const [chosen, setOpen] = useState<boolean>();
  const [wasNeeded, setWasNeeded] = useState(isNeeded);
  if (wasNeeded !== isNeeded) {
    setWasNeeded(isNeeded);
    setOpen(undefined);
  }
  const isOpen = chosen ?? isNeeded;
  const id = useId();
  return (
    <div className={clsx('min-w-0', className)}>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
        className="flex min-h-11 w-full items-center gap-3 rounded-2xl border border-line bg-surface px-4 py-2 text-left lg:hidden"
      >
        <span className="min-w-0 flex-1">
          <span className="block font-semibold">{label}</span>
          <span className="block text-sm wrap-anywhere text-muted">{summary}</span>
        </span>
        <ChevronDown aria-hidden className={clsx('size-5 shrink-0 text-muted', isOpen && 'rotate-180')} />
      </button>
      <div id={id} className={clsx('max-lg:mt-4', !isOpen && 'max-lg:hidden')}>
        {children}
      </div>
    </div>
  );
}
