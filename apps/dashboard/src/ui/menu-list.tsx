import clsx from 'clsx';
import { Check } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { type ReactNode, useEffect, useRef } from 'react';

interface MenuItem {
  /** Tells it apart from others with this label. */
  readonly id?: string;
  readonly label: string;
  /** Under the label. */
  readonly note?: string | undefined;
  readonly icon?: ReactNode;
  readonly onSelect: () => void;
  readonly danger?: boolean;
  /** Marks the item that is in use. */
  readonly checked?: boolean;
}

export interface MenuProps {
  /** The button that opens it. */
  readonly trigger: ReactNode;
  /** Above the first group, such as who is signed in. */
  readonly heading?: ReactNode;
  /** A line separates the groups. */
  readonly groups: readonly (readonly MenuItem[])[];
  /** Called each time that the user opens it. */
  readonly onOpen?: () => void;
  readonly align?: 'start' | 'end';
}

interface MenuListProps extends MenuProps {
  /** What the user did with the button before this was loaded. */
  readonly opensAtOnce: boolean;
  readonly takesFocus: boolean;
}

/**
 * The menu behind its button. An action runs once the focus is back on the button, so that a dialog which it opens
 * returns the focus there.
 */
export function MenuList({ trigger, heading, groups, onOpen, align = 'end', ...before }: MenuListProps) {
  const { opensAtOnce, takesFocus } = before;
  const chosen = useRef<() => void>(undefined);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (takesFocus) button.current?.focus();
  }, [takesFocus]);
  return (
    <DropdownMenu.Root modal={false} defaultOpen={opensAtOnce} onOpenChange={(isOpen) => isOpen && onOpen?.()}>
      <DropdownMenu.Trigger ref={button} asChild>
        {trigger}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={6}
          collisionPadding={8}
          onCloseAutoFocus={() => {
            const action = chosen.current;
            chosen.current = undefined;
            // The focus moves when this handler has returned.
            if (action !== undefined) queueMicrotask(action);
          }}
          className="z-50 max-h-(--radix-dropdown-menu-content-available-height) min-w-48 max-w-[min(24rem,calc(100vw-1rem))] overflow-y-auto rounded-xl border border-line bg-surface p-1 shadow-lg"
        >
          {heading !== undefined && <div className="px-3 py-2 text-sm text-muted">{heading}</div>}
          {groups.map((items, index) => (
            <DropdownMenu.Group
              key={items.map(({ id, label }) => id ?? label).join()}
              className={clsx((index > 0 || heading !== undefined) && 'border-t border-line mt-1 pt-1')}
            >
              {items.map((item) => (
                <DropdownMenu.Item
                  key={item.id ?? item.label}
                  onSelect={() => {
                    chosen.current = item.onSelect;
                  }}
                  className={clsx(
                    'flex min-h-9 items-center gap-2 rounded-lg px-3 outline-none data-highlighted:bg-raised',
                    item.danger === true && 'text-danger',
                  )}
                >
                  {item.icon}
                  <span title={item.label} className="min-w-0 flex-1 truncate">
                    {item.label}
                    {item.note !== undefined && <span className="block truncate text-sm text-muted">{item.note}</span>}
                  </span>
                  {item.checked === true && <Check aria-label="in use" className="size-4 text-accent" />}
                </DropdownMenu.Item>
              ))}
            </DropdownMenu.Group>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
