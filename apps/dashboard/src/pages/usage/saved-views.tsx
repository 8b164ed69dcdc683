import { useNavigate } from '@tanstack/react-router';
import { Bookmark, BookmarkPlus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Menu } from '../../ui/menu.tsx';
import { readUsageSearch, type UsageSearch } from './usage-search.ts';

interface SavedView {
  readonly name: string;
  readonly search: UsageSearch;
}

const storageKey = 'sotto.usage.views';
const mostViews = 20;

/** The views that this browser keeps, without what it no longer understands. */
function readViews(): readonly SavedView[] {
  const stored = JSON.parse(localStorage.getItem(storageKey) ?? '[]') as readonly { name: string; search: object }[];
  return stored.map(({ name, search }) => ({ name, search: readUsageSearch({ ...search }) }));
}

/** A view by the same name is replaced. The newest come first. */
const withView = (views: readonly SavedView[], view: SavedView): readonly SavedView[] =>
  [view, ...views.filter(({ name }) => name !== view.name)].slice(0, mostViews);

/** The filters, time and grouping of the page under a name, to return to. They are kept in this browser. */
export function SavedViews({ search }: { search: UsageSearch }) {
  const [views, setViews] = useState(readViews);
  const [open, setOpen] = useState<'save' | 'remove'>();
  const navigate = useNavigate();
  const keep = (next: readonly SavedView[]): void => {
    localStorage.setItem(storageKey, JSON.stringify(next));
    setViews(next);
  };
  const shown = JSON.stringify(search);
  return (
    <>
      <Menu
        heading={views.length === 0 ? 'No view is saved in this browser' : 'Saved in this browser'}
        trigger={<Button icon={<Bookmark aria-hidden className="size-4" />}>Views</Button>}
        groups={[
          ...(views.length === 0
            ? []
            : [
                views.map((view) => ({
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
          onClose={() => setOpen(undefined)}
          onSave={(name) => {
            keep(withView(views, { name, search }));
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
                    const left = views.filter(({ name }) => name !== view.name);
                    keep(left);
                    if (left.length === 0) setOpen(undefined);
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

function SaveView({ onClose, onSave }: { onClose: () => void; onSave: (name: string) => void }) {
  const [name, setName] = useState('');
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <Form form={{ submit: () => onSave(name.trim()) }} action="Save view" disabled={name.trim() === ''}>
        <TextField
          label="Name"
          hint="It keeps the time, filters and grouping, in this browser."
          autoComplete="off"
          maxLength={60}
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
      </Form>
    </Dialog>
  );
}
