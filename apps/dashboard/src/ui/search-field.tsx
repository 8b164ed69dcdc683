import clsx from 'clsx';
import { Search } from 'lucide-react';
import { useDraft } from './use-draft.ts';

export interface SearchFieldProps {
  /** What is searched, for readers and as the placeholder. */
  readonly label: string;
  readonly value: string;
  readonly onChange: (typed: string) => void;
  readonly className?: string;
}

/** Narrows a list while one types. Escape empties it. */
export function SearchField({ label, value, onChange, className }: SearchFieldProps) {
  const draft = useDraft(value, onChange);
  return (
    <div className={clsx('relative', className)}>
      <Search aria-hidden className="pointer-events-none absolute top-3 left-3 size-4 text-muted" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        {...draft}
        className="min-h-10 w-full rounded-lg border border-line-strong bg-surface pr-3 pl-9 text-text"
      />
    </div>
  );
}
