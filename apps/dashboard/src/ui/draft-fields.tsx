import { useNavigate, useSearch } from '@tanstack/react-router';
import clsx from 'clsx';
import { Search } from 'lucide-react';
import { useState } from 'react';
import { TextField, type TextFieldProps } from './field.tsx';

interface DayFieldProps extends Pick<TextFieldProps, 'label' | 'hint' | 'error' | 'className'> {
  /** `2026-11-21`. */
  readonly value: string;
  readonly onChange: (day: string) => void;
  /** An empty field is a choice, too. */
  readonly mayBeEmpty?: boolean;
}

/** A day, by the browser's own control. A half-typed day does not reach `onChange`. */
export function DayField({ value, onChange, mayBeEmpty = false, ...field }: DayFieldProps) {
  const draft = useDraft(value, (typed) => {
    if (/^\d{4}-\d\d-\d\d$/.test(typed) || (mayBeEmpty && typed === '')) onChange(typed);
  });
  return <TextField {...field} type="date" min="2020-01-01" max="2099-12-31" {...draft} />;
}

interface MinuteFieldProps extends Omit<DayFieldProps, 'mayBeEmpty' | 'onChange'> {
  readonly onChange: (minute: string) => void;
}

/** A minute such as `2026-11-21T11:30`. A half-typed one does not reach `onChange`. */
export function MinuteField({ value, onChange, ...field }: MinuteFieldProps) {
  const draft = useDraft(value, (typed) => {
    if (/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(typed)) onChange(typed.slice(0, 16));
  });
  return <TextField {...field} type="datetime-local" min="2020-01-01T00:00" max="2099-12-31T23:59" {...draft} />;
}

interface SearchFieldProps {
  /** The name of the field for screen readers, and its placeholder. */
  readonly label: string;
  readonly value: string;
  readonly onChange: (typed: string) => void;
  readonly className?: string;
}

/** Filters a list as the user types. Escape empties it. */
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

/** A search whose text the address keeps as `q`, so that it can be linked. The page reads it from there. */
export function SearchInAddress({ label, placeholder }: { label: string; placeholder: string }) {
  const { q = '' } = useSearch({ strict: false });
  const navigate = useNavigate();
  const draft = useDraft(q, (typed) => {
    void navigate({ to: '.', search: typed === '' ? {} : { q: typed }, replace: true, resetScroll: false });
  });
  return <TextField label={label} placeholder={placeholder} type="search" {...draft} />;
}

/**
 * The text of a control whose value is kept elsewhere, such as in the address, and is updated a moment later. While the
 * control has the focus, it shows the typed text; otherwise it shows the value.
 */
function useDraft(value: string, onChange: (typed: string) => void) {
  const [draft, setDraft] = useState<string>();
  return {
    value: draft ?? value,
    onFocus: () => setDraft(value),
    onBlur: () => setDraft(undefined),
    onChange: (event: { readonly target: { readonly value: string } }) => {
      setDraft(event.target.value);
      onChange(event.target.value);
    },
  };
}
