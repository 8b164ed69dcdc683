import clsx from 'clsx';
import { ChevronsUpDown } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react';
import { Field } from './field.tsx';

export interface ComboboxOption {
  readonly value: string;
  /** Shown when the option is chosen, and searched together with the value. */
  readonly label: string;
  /** Under the label in the list. */
  readonly detail?: ReactNode;
}

interface ComboboxProps {
  readonly label: ReactNode;
  readonly value: string;
  readonly options: readonly ComboboxOption[];
  readonly onChange: (value: string) => void;
  readonly className?: string;
}

const mostShown = 100;

/** One of many, found by typing a part of its name (the pattern "editable combobox with list autocomplete" of ARIA). */
export function Combobox({ label, value, options, onChange, className }: ComboboxProps) {
  /** Undefined while the list is closed. */
  const [words, setWords] = useState<string>();
  const [active, setActive] = useState(0);
  const listId = useId();
  const list = useRef<HTMLUListElement>(null);
  const isOpen = words !== undefined;
  const chosen = options.find((option) => option.value === value);
  const wanted = (words ?? '').trim().toLowerCase();
  const found = options
    .filter((option) => `${option.value} ${option.label}`.toLowerCase().includes(wanted))
    .slice(0, mostShown);

  const close = (): void => setWords(undefined);
  const open = (): void => {
    setWords('');
    setActive(
      Math.max(
        0,
        options.slice(0, mostShown).findIndex((option) => option.value === value),
      ),
    );
  };
  const choose = (option: ComboboxOption | undefined): void => {
    if (option !== undefined) onChange(option.value);
    close();
  };
  const move = (to: number): void => {
    const next = Math.min(Math.max(to, 0), found.length - 1);
    setActive(next);
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isOpen) {
      if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        open();
      }
      return;
    }
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + 8,
      PageUp: active - 8,
    };
    const to = moves[event.key];
    if (to !== undefined) move(to);
    else if (event.key === 'Enter') choose(found[active]);
    else if (event.key === 'Escape') close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <Field label={label} className={className}>
      {(attributes) => (
        <div className="relative">
          <input
            {...attributes}
            type="text"
            role="combobox"
            autoComplete="off"
            spellCheck={false}
            aria-autocomplete="list"
            aria-expanded={isOpen}
            aria-controls={isOpen ? listId : undefined}
            aria-activedescendant={isOpen && found.length > 0 ? `${listId}-${String(active)}` : undefined}
            value={words ?? chosen?.label ?? value}
            placeholder={chosen?.label ?? value}
            onClick={() => {
              if (!isOpen) open();
            }}
            onChange={(event) => {
              setWords(event.target.value);
              setActive(0);
            }}
            onKeyDown={onKeyDown}
            onBlur={close}
            className="min-h-10 w-full truncate rounded-lg border border-line-strong bg-surface pr-9 pl-3"
          />
          <ChevronsUpDown
            aria-hidden
            className="pointer-events-none absolute top-1/2 right-3 size-4 -translate-y-1/2 text-muted"
          />
          {isOpen && (
            <ul
              ref={list}
              id={listId}
              // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a list of options
              role="listbox"
              aria-label="Choices"
              // The focus stays in the input, also while the list is scrolled.
              onMouseDown={(event) => event.preventDefault()}
              className="absolute inset-x-0 top-full z-20 mt-1 max-h-80 overflow-y-auto rounded-xl border border-line-strong bg-surface p-1 shadow-lg"
            >
              {found.map((option, index) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: keys are the input's
                <li
                  key={option.value}
                  id={`${listId}-${String(index)}`}
                  // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: an option
                  role="option"
                  aria-selected={option.value === value}
                  onMouseEnter={() => setActive(index)}
                  onClick={() => choose(option)}
                  className={clsx(
                    'cursor-pointer rounded-lg px-3 py-1.5 break-words',
                    index === active && 'bg-raised',
                    option.value === value && 'font-medium',
                  )}
                >
                  {option.label}
                  {option.detail !== undefined && (
                    <span className="block text-sm font-normal text-muted">{option.detail}</span>
                  )}
                </li>
              ))}
              {found.length === 0 && (
                // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole lint/a11y/useFocusableInteractive: an option
                <li role="option" aria-selected="false" aria-disabled className="px-3 py-1.5 text-muted">
                  No matches.
                </li>
              )}
            </ul>
          )}
        </div>
      )}
    </Field>
  );
}
