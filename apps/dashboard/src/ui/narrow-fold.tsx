import clsx from 'clsx';
import { ChevronDown } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';

export interface NarrowFoldProps {
  readonly label: string;
  /** What is chosen within, in a line, while it is folded. */
  readonly summary: string;
  readonly isOpenAtFirst: boolean;
  readonly className?: string;
  readonly children: ReactNode;
}

/** On narrow screens folds to one line what stands beside the subject on wide ones. */
export function NarrowFold({ label, summary, isOpenAtFirst, className, children }: NarrowFoldProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
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
          <span className="block truncate text-sm text-muted">{summary}</span>
        </span>
        <ChevronDown aria-hidden className={clsx('size-5 shrink-0 text-muted', isOpen && 'rotate-180')} />
      </button>
      <div id={id} className={clsx('max-lg:mt-4', !isOpen && 'max-lg:hidden')}>
        {children}
      </div>
    </div>
  );
}
