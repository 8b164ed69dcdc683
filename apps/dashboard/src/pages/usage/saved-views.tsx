import { useNavigate } from '@tanstack/react-router';
import { Bookmark, BookmarkPlus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Menu } from '../../ui/menu.tsx';
import type { UsageSearch } from './usage-search.ts';
import { noteOn, readViews, type SavedView, withView } from './view-store.ts';

interface SavedViewsProps {
  readonly search: UsageSearch;
  /** Another person in this browser does not see them. */
  readonly userId: string;
}

/** The workspace, filters, time and grouping of the page under a name, to return to. They are kept in this browser. */
export function SavedViews({ search, userId }: SavedViewsProps) {
  const storageKey = `sotto.usage.views.${userId}`;
  const stored = (): readonly SavedView[] => readViews(localStorage.getItem(storageKey));
  const [views, setViews] = useState(stored);
  const [open, setOpen] = useState<'save' | 'remove'>();
  const navigate = useNavigate();
  // Another tab may have saved one since.
  const keep = (change: (views: readonly SavedView[]) => readonly SavedView[]): void => {
    const next = change(stored());
    localStorage.setItem(storageKey, JSON.stringify(next));
    setViews(next);
  };
  const shown = JSON.stringify(search);
  return (
    <>
      <Menu
        onOpen={() => setViews(stored())}
        heading={views.length === 0 ? 'No view is saved in this browser' : 'Saved in this browser'}
        trigger={<Button icon={<Bookmark aria-hidden className="size-4" />}>Views</Button>}
        groups={[
          ...(views.length === 0
            ? []
            : [
                views.map((view) => ({
                  id: `of ${view.name}`,
                  label: view.name,
                  checked: JSON.stringify(view.search) === shown,
                  onSelect: () => void navigate({ to: '/usage', search: view.search }),
                })),
              ]),
          [
            {
              label: 'Save this view…',
              icon: <BookmarkPlus aria-hidden className="size-4" />,
              onSelect: () => setOpen('save'),
            },
            ...(views.length === 0
              ? []
              : [
                  {
                    label: 'Remove a view…',
                    icon: <Trash2 aria-hidden className="size-4" />,
                    onSelect: () => setOpen('remove'),
                  },
                ]),
          ],
        ]}
      />
      {open === 'save' && (
        <SaveView
          views={views}
          onClose={() => setOpen(undefined)}
          onSave={(name) => {
            keep((before) => withView(before, { name, search }));
            setOpen(undefined);
          }}
        />
      )}
      {open === 'remove' && (
        <Dialog title="Remove a view" onClose={() => setOpen(undefined)}>
          <ul className="space-y-2">
            {views.map((view) => (
              <li key={view.name} className="flex items-center justify-between gap-3">
                <span className="min-w-0 break-words">{view.name}</span>
                <Button
                  small
                  onClick={() => {
                    keep((before) => before.filter(({ name }) => name !== view.name));
                    if (views.length === 1) setOpen(undefined);
                  }}
                >
                  Remove<span className="sr-only">{` ${view.name}`}</span>
                </Button>
              </li>
            ))}
          </ul>
        </Dialog>
      )}
    </>
  );
}

interface SaveViewProps {
  readonly views: readonly SavedView[];
  readonly onClose: () => void;
  readonly onSave: (name: string) => void;
}

function SaveView({ views, onClose, onSave }: SaveViewProps) {
  const [name, setName] = useState('');
  const { text, isFull } = noteOn(views, name.trim());
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <Form form={{ submit: () => onSave(name.trim()) }} action="Save view" disabled={name.trim() === '' || isFull}>
        <TextField
          label="Name"
          hint={text ?? 'It keeps the workspace, time, filters and grouping, in this browser.'}
          autoComplete="off"
          maxLength={60}
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
      </Form>
    </Dialog>
  );
}
