import clsx from 'clsx';
import { type ReactNode, useId, useState } from 'react';

interface CheckListItem {
  readonly id: string;
  readonly label: string;
  /** Beside the label. */
  readonly detail?: ReactNode;
}

interface CheckListProps {
  readonly legend: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly items: readonly CheckListItem[];
  readonly isChecked: (id: string) => boolean;
  readonly onToggle: (id: string, checked: boolean) => void;
  /** Label of the search field, which long lists have. */
  readonly searchLabel: string;
  readonly disabled?: boolean;
}

const many = 8;

/** Any number of many choices, as checkboxes. Long lists can be searched. */
export function CheckList(props: CheckListProps) {
  const { legend, hint, error, items, isChecked, onToggle, searchLabel, disabled = false } = props;
  const [words, setWords] = useState('');
  const id = useId();
  const wanted = words.trim().toLowerCase();
  const shown = items.filter(({ id: one, label }) => `${one} ${label}`.toLowerCase().includes(wanted));
  return (
    <fieldset
      disabled={disabled}
      className="min-w-0 space-y-2"
      {...(error === undefined ? {} : { 'aria-describedby': `${id}-error` })}
    >
      <legend className="text-sm font-medium">{legend}</legend>
      {hint !== undefined && <p className="text-sm text-muted">{hint}</p>}
      {items.length > many && (
        <input
          type="search"
          aria-label={searchLabel}
          placeholder={searchLabel}
          value={words}
          onChange={(event) => setWords(event.target.value)}
          className="min-h-10 w-full rounded-lg border border-line-strong bg-surface px-3"
        />
      )}
      <ul className="max-h-80 divide-y divide-line overflow-y-auto rounded-xl border border-line">
        {shown.map((item) => (
          <li key={item.id}>
            <label className={clsx('flex min-h-10 items-center gap-3 px-3 py-2', !disabled && 'hover:bg-raised')}>
              <input
                type="checkbox"
                checked={isChecked(item.id)}
                aria-invalid={error === undefined ? undefined : true}
                onChange={(event) => onToggle(item.id, event.target.checked)}
                className="size-4 shrink-0 accent-accent"
              />
              <span className="min-w-0 flex-1 break-words">{item.label}</span>
              {item.detail}
            </label>
          </li>
        ))}
        {shown.length === 0 && <li className="px-3 py-2 text-sm text-muted">No matches.</li>}
      </ul>
      {error !== undefined && (
        <p id={`${id}-error`} role="alert" className="text-sm text-danger">
          {error}
        </p>
      )}
    </fieldset>
  );
}
