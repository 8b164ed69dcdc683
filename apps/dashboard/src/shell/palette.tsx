import type { KeyAnswer } from '@sotto/contract/control/keys';
import { useQuery } from '@tanstack/react-query';
import { type AnyRouter, useRouter } from '@tanstack/react-router';
import clsx from 'clsx';
import { Dialog } from 'radix-ui';
import { type KeyboardEvent, useId, useMemo, useRef, useState } from 'react';
import { keysQuery } from '../api/keys.ts';
import { confidentialOrigin, controlOrigin } from '../api/origins.ts';
import { modelsQuery } from '../api/queries.ts';
import { isOffered } from '../models/model-options.ts';
import { describedQuery } from '../pages/reference/described-query.ts';
import { useSignOut } from '../session/session.ts';
import { usePart } from '../ui/lazy-page.ts';
import { overlay, useFocusReturn } from '../ui/modal.ts';
import { useAnnounce, useAnnounceError } from '../ui/toasts.tsx';
import { otherOwnerOf, useShownWorkspace, useWorkspace } from '../workspaces/workspaces.tsx';
import { type Command, findCommands } from './find-commands.ts';
import { type MenuPage, slashShortcut } from './navigation.ts';
import { type Theme, useTheme } from './theme.ts';

interface PaletteProps {
  readonly pages: readonly MenuPage[];
  readonly isSignedIn: boolean;
  readonly onClose: () => void;
}

/** Finds pages, docs, models, keys and actions by any of their words, and goes there or does it. */
export function Palette({ pages, isSignedIn, onClose }: PaletteProps) {
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const id = useId();
  const focusReturn = useFocusReturn();
  const list = useRef<HTMLDivElement>(null);
  const groups = findCommands(useCommands(pages, isSignedIn, typed), typed);
  const found = groups.flatMap(({ commands }) => commands);
  const choose = (command: Command | undefined): void => {
    if (command === undefined) return;
    onClose();
    // The dialog gives the focus back first, so that the page or the next dialog can take it.
    setTimeout(command.run);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: (active + 1) % Math.max(found.length, 1),
      ArrowUp: (active + found.length - 1) % Math.max(found.length, 1),
      PageDown: Math.min(active + 8, found.length - 1),
      PageUp: Math.max(active - 8, 0),
    };
    const to = moves[event.key];
    if (to !== undefined) {
      setActive(to);
      list.current?.querySelectorAll('[role=option]')[to]?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) choose(found[active]);
    else return;
    event.preventDefault();
  };
  let place = -1;
  return (
    <Dialog.Root open onOpenChange={onClose}>
      <Dialog.Portal>
        <Dialog.Overlay className={overlay} />
        <Dialog.Content
          {...focusReturn}
          aria-describedby={undefined}
          className="fixed inset-x-2 top-2 z-50 mx-auto max-w-xl rounded-2xl border border-line bg-surface p-3 shadow-xl sm:top-[14dvh]"
        >
          <Dialog.Title className="sr-only">Search and commands</Dialog.Title>
          <input
            type="text"
            role="combobox"
            aria-label="Search pages, docs, models and keys"
            placeholder="Search pages, docs, models and keys"
            autoComplete="off"
            spellCheck={false}
            aria-autocomplete="list"
            aria-expanded
            aria-controls={`${id}-list`}
            aria-activedescendant={found.length > 0 ? `${id}-${String(active)}` : undefined}
            value={typed}
            maxLength={200}
            onChange={(event) => {
              setTyped(event.target.value);
              setActive(0);
            }}
            onKeyDown={onKeyDown}
            className="min-h-11 w-full rounded-lg border border-line-strong bg-surface px-3"
          />
          <div
            ref={list}
            id={`${id}-list`}
            role="listbox"
            tabIndex={-1}
            aria-label="Results"
            // The focus stays in the input.
            onMouseDown={(event) => event.preventDefault()}
            className="mt-2 h-96 max-h-[50dvh] overflow-y-auto"
          >
            {groups.map(({ group, commands }) => (
              // biome-ignore lint/a11y/useSemanticElements: a group of options
              <div key={group} role="group" aria-labelledby={`${id}-${group}`}>
                <div id={`${id}-${group}`} className="px-3 pt-2 pb-1 text-xs font-medium text-muted">
                  {group}
                </div>
                {commands.map((command) => {
                  place += 1;
                  const index = place;
                  return (
                    // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: keys are the input's
                    <div
                      key={`${command.label} ${command.detail ?? ''}`}
                      id={`${id}-${String(index)}`}
                      role="option"
                      aria-selected={index === active}
                      onMouseMove={() => setActive(index)}
                      onClick={() => choose(command)}
                      className={clsx(
                        'flex min-h-9 cursor-pointer items-center gap-3 rounded-lg px-3',
                        index === active && 'bg-accent-soft text-accent-strong',
                      )}
                    >
                      <span className="min-w-0 truncate">{command.label}</span>
                      {command.detail !== undefined && (
                        <span className="ml-auto min-w-0 shrink-0 basis-1/3 truncate text-right text-sm text-muted">
                          {command.detail}
                        </span>
                      )}
                    </div>
                  );
                })}
              </div>
            ))}
          </div>
          <p role="status" className="mt-2 px-3 text-sm text-muted">
            {found.every(({ group }) => group === 'Docs')
              ? 'No page, guide, operation, model, key or action matches. Try an id, a name or a verb such as “create”.'
              : 'Arrow keys choose, Enter opens, Escape closes.'}
          </p>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Everything that the user can find, pages first. */
function useCommands(pages: readonly MenuPage[], isSignedIn: boolean, typed: string): readonly Command[] {
  const router: AnyRouter = useRouter();
  const { workspace } = useWorkspace();
  const { data: models = [] } = useQuery(modelsQuery);
  const { data: keys = [] } = useQuery({ ...keysQuery(workspace?.id), enabled: isSignedIn && workspace !== undefined });
  const go =
    (to: string, search: object = {}) =>
    (): void =>
      void router.navigate({ to, search });
  return [
    ...pages.map(
      ({ to, label }): Command => ({
        group: 'Pages',
        label,
        run: go(to),
      }),
    ),
    ...(isSignedIn ? [{ group: 'Pages', label: 'Account and security', run: go('/account') } as const] : []),
    ...useActions(isSignedIn),
    ...useDocs(typed.trim()),
    ...models.filter(isOffered).map(
      ({ id, name }): Command => ({
        group: 'Models',
        label: id,
        ...(name === id ? {} : { detail: name }),
        run: () => void router.navigate({ to: '/models/$', params: { _splat: id } }),
      }),
    ),
    ...keys
      .filter(isUsable)
      .map(({ name, kind }): Command => ({ group: 'Keys', label: name, detail: kind, run: go('/keys', { q: name }) })),
  ];
}

const loadGuides = () => import('../pages/guides/guides.ts');

/** Single guides and operations, and their search. They are loaded once something is typed. */
function useDocs(typed: string): readonly Command[] {
  const router: AnyRouter = useRouter();
  const isTyped = typed !== '';
  const guides = usePart(loadGuides, isTyped)?.guides;
  const { data: broker = [] } = useQuery({ ...describedQuery('broker'), enabled: isTyped });
  const { data: control = [] } = useQuery({ ...describedQuery('control'), enabled: isTyped });
  const titled = useMemo(
    () =>
      guides?.map(({ path, title, text }) => ({ path, title, headings: (text.match(/^##+ .+$/gm) ?? []).join(' ') })),
    [guides],
  );
  if (!isTyped) return [];
  return [
    ...(titled ?? []).map(
      ({ path, title, headings }): Command => ({
        ...{ group: 'Guides', label: title, words: headings },
        run: () => void router.navigate({ to: '/guides/$', params: { _splat: path } }),
      }),
    ),
    ...[...broker, ...control].map(
      ({ origin, method, path, operation: { operationId, summary } }): Command => ({
        ...{ group: 'API', label: summary, detail: `${method.toUpperCase()} ${path}`, words: operationId },
        run: () =>
          void router.navigate({ to: '/reference/$origin/$operation', params: { origin, operation: operationId } }),
      }),
    ),
    ...['guides', 'reference'].map(
      (place): Command => ({
        ...{ group: 'Docs', label: `Search the ${place} for “${typed}”` },
        run: () => void router.navigate({ to: `/${place}`, search: { q: typed } }),
      }),
    ),
  ];
}

const isUsable = ({ revoked_at }: KeyAnswer): boolean => revoked_at === null;

const themeActions: Readonly<Record<Theme, string>> = {
  light: 'Use the light theme',
  dark: 'Use the dark theme',
  system: 'Use the theme of the system',
};

function useActions(isSignedIn: boolean): readonly Command[] {
  const router: AnyRouter = useRouter();
  const { workspace, workspaces, open } = useShownWorkspace();
  const signOut = useSignOut();
  const announce = useAnnounce();
  const announceError = useAnnounceError();
  const { theme, choose: chooseTheme } = useTheme();
  const copy = (text: string) => (): void => {
    navigator.clipboard
      .writeText(text)
      .then(() => announce({ text: `Copied: ${text}` }))
      .catch(() => announce({ tone: 'danger', text: `The browser did not allow copying. It is ${text}` }));
  };
  const action = (label: string, run: () => void, words = ''): Command => ({ group: 'Actions', label, words, run });
  return [
    ...(isSignedIn
      ? [
          action('Ask a model in the playground', () => void router.navigate({ to: '/playground' }), 'chat new'),
          action('Create or revoke a key', () => void router.navigate({ to: '/keys' }), 'new api token delete'),
          action('Add funds', () => void router.navigate({ to: '/billing' }), 'top up pay buy balance money'),
        ]
      : [
          action('Sign in', () => void router.navigate({ to: '/sign-in' }), 'log in'),
          action('Create an account', () => void router.navigate({ to: '/sign-up' }), 'sign up register'),
        ]),
    action('Verify the broker', () => void router.navigate({ to: '/verify' }), 'attestation evidence'),
    action('Copy the base URL for content', copy(`${confidentialOrigin}/v1`), 'broker confidential endpoint address'),
    action('Copy the base URL of control', copy(`${controlOrigin}/v1`), 'endpoint address'),
    ...workspaces
      .filter(({ id }) => id !== workspace?.id)
      .map((one) => {
        const owner = otherOwnerOf(one);
        const label = `Switch to ${one.name}${owner === undefined ? '' : ` of ${owner}`}`;
        return action(label, () => open(one.id), 'workspace team');
      }),
    ...(['light', 'dark', 'system'] as const)
      .filter((one) => one !== theme)
      .map((one) => action(themeActions[one], () => chooseTheme(one), 'appearance mode')),
    action(
      slashShortcut.isOn() ? 'Turn off the shortcut /' : 'Turn on the shortcut /',
      slashShortcut.toggle,
      'key keyboard slash',
    ),
    ...(isSignedIn
      ? [
          action(
            'Sign out',
            () => void signOut().then(() => router.navigate({ to: '/sign-in' }), announceError),
            'log out leave',
          ),
        ]
      : []),
  ];
}
