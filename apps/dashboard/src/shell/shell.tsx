import { isRoleAtLeast } from '@sotto/contract/control/workspace-role';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouter, useRouterState } from '@tanstack/react-router';
import clsx from 'clsx';
import { ChevronsUpDown, LogOut, Menu as MenuIcon, Monitor, Moon, Settings, Sun, UserRound, X } from 'lucide-react';
import { Dialog } from 'radix-ui';
import { Fragment, useEffect, useRef, useState } from 'react';
import { accountQuery, balanceQuery, capabilitiesQuery } from '../api/queries.ts';
import { formatBalance, formatExactUsd } from '../format/format.ts';
import { type SignedInUser, signInMethodsQuery, useSignedIn, useSignOut } from '../session/session.ts';
import { Button, buttonClass, IconButton } from '../ui/button.tsx';
import { usePart } from '../ui/lazy-page.ts';
import { Menu } from '../ui/menu.tsx';
import { useAnnounceError } from '../ui/toasts.tsx';
import {
  ChosenWorkspaceProvider,
  otherOwnerOf,
  useChosenWorkspace,
  useShownWorkspace,
  useWorkspace,
} from '../workspaces/workspaces.tsx';
import { type MenuPage, navigation, navigationGroups, operatorNavigation } from './navigation.ts';
import { PaletteButton } from './palette-button.tsx';
import { type Theme, themes, useTheme } from './theme.ts';

/** The frame of every page: menu, workspace, balance and account. */
export function Shell() {
  const user = useSignedIn();
  const chosen = useChosenWorkspace(user !== null && user !== undefined);
  return (
    <ChosenWorkspaceProvider value={chosen}>
      <a
        href="#content"
        className="sr-only z-50 rounded-lg bg-accent text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:px-4 focus:py-2"
      >
        Skip to content
      </a>
      <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
        <aside className="sticky top-0 hidden h-dvh flex-col border-r border-line bg-surface lg:flex">
          <Brand />
          <nav aria-label="Pages" className="min-h-0 flex-1 overflow-y-auto px-3 pb-3">
            <Pages user={user} />
          </nav>
        </aside>
        <div className="flex min-w-0 flex-col">
          <TopBar user={user} />
          <Content />
        </div>
      </div>
      <SessionQuestion user={user} />
    </ChosenWorkspaceProvider>
  );
}

const loadSignInAgain = () => import('../pages/sign-in/sign-in-again.tsx');

/** Asks to sign in again. It is loaded before a session ends, because the service may be away by then. */
function SessionQuestion({ user }: { user: SignedInUser | null | undefined }) {
  const part = usePart(loadSignInAgain, user !== null && user !== undefined);
  return part === undefined ? null : <part.SignInAgain />;
}

/** The page itself. A change of page moves the focus here, so that screen readers start at its title. */
function Content() {
  const content = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    content.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <main id="content" ref={content} tabIndex={-1} className="min-w-0 flex-1 outline-none">
      <Outlet />
    </main>
  );
}

function Brand({ onChosen }: { onChosen?: () => void }) {
  return (
    <Link
      to="/"
      {...(onChosen === undefined ? {} : { onClick: onChosen })}
      className="flex items-center gap-2.5 px-5 py-4 text-lg font-semibold tracking-tight"
    >
      <img src="/favicon.svg" alt="" className="size-7" />
      Sotto
    </Link>
  );
}

interface PagesProps {
  readonly user: SignedInUser | null | undefined;
  readonly onChosen?: () => void;
}

function Pages({ user, onChosen }: PagesProps) {
  const { pages, operatorPages } = useMenuPages(user);
  const named = navigationGroups.flatMap((group) => group.pages);
  return navigationGroups.map((group, index) => {
    const isLast = index === navigationGroups.length - 1;
    const inGroup = pages.filter(({ to }) => (isLast ? !named.includes(to) : group.pages.includes(to)));
    return (
      <Fragment key={group.title ?? ''}>
        <PageGroup title={group.title} pages={inGroup} onChosen={onChosen} />
        {isLast && <PageGroup title="Operator" pages={operatorPages} onChosen={onChosen} />}
      </Fragment>
    );
  });
}

/** The pages that this user sees. */
function useMenuPages(user: SignedInUser | null | undefined) {
  const { data: capabilities } = useQuery(capabilitiesQuery);
  const { workspace } = useWorkspace();
  const pages = navigation.filter(
    ({ to, session }) =>
      (!session || user) &&
      (to !== '/apps' || capabilities?.connected_apps.enabled === true) &&
      (to !== '/audit' || workspace === undefined || isRoleAtLeast(workspace.role, 'admin')),
  );
  const { data: account } = useQuery({ ...accountQuery, enabled: user !== null && user !== undefined });
  return { pages, operatorPages: user && account?.is_operator === true ? operatorNavigation : [] };
}

interface PageGroupProps {
  readonly title: string | undefined;
  readonly pages: readonly MenuPage[];
  readonly onChosen: (() => void) | undefined;
}

const menuLink = 'flex min-h-9 items-center gap-3 rounded-lg px-3 text-muted hover:bg-raised hover:text-text';

function PageGroup({ title, pages, onChosen }: PageGroupProps) {
  if (pages.length === 0) return null;
  return (
    <>
      {title !== undefined && <h2 className="mt-4 mb-0.5 px-3 text-xs font-medium text-muted">{title}</h2>}
      <ul className="space-y-0.5">
        {pages.map(({ to, label, icon: Icon }) => (
          <li key={to}>
            <Link
              to={to}
              activeOptions={{ exact: to === '/' }}
              {...(onChosen === undefined ? {} : { onClick: onChosen })}
              className={menuLink}
              activeProps={{ className: 'bg-accent-soft text-accent-strong! font-medium', 'aria-current': 'page' }}
            >
              <Icon aria-hidden className="size-4.5 shrink-0" />
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

function TopBar({ user }: { user: SignedInUser | null | undefined }) {
  const { pages, operatorPages } = useMenuPages(user);
  return (
    <header className="sticky top-0 z-30 flex min-h-14 items-center gap-2 border-b border-line bg-surface px-3 sm:px-5">
      <Drawer user={user} />
      {user && <WorkspaceMenu />}
      <div className="ml-auto flex items-center gap-1 sm:gap-2">
        <PaletteButton pages={[...pages, ...operatorPages]} isSignedIn={Boolean(user)} />
        {user && <Balance />}
        <ThemeMenu />
        {user && <AccountMenu user={user} />}
        {user === null && (
          <>
            <Link to="/sign-in" className={buttonClass('quiet', true)}>
              Sign in
            </Link>
            <SignUpLink />
          </>
        )}
      </div>
    </header>
  );
}

/** People who sign in only with the OpenID provider have no account to create first. */
function SignUpLink() {
  const { data: methods } = useQuery(signInMethodsQuery);
  if (methods?.password === false) return null;
  return (
    <Link to="/sign-up" className={buttonClass('primary', true)}>
      Sign up
    </Link>
  );
}

/** The menu on narrow screens. */
function Drawer({ user }: { user: SignedInUser | null | undefined }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger asChild>
        <IconButton label="Open the menu" icon={<MenuIcon aria-hidden className="size-5" />} className="lg:hidden" />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed inset-y-0 left-0 z-50 w-72 max-w-[85vw] overflow-y-auto border-r border-line bg-surface pb-4"
        >
          <div className="flex items-center justify-between pr-3">
            <Brand onChosen={() => setOpen(false)} />
            <Dialog.Close asChild>
              <IconButton label="Close the menu" icon={<X aria-hidden className="size-5" />} />
            </Dialog.Close>
          </div>
          <Dialog.Title className="sr-only">Menu</Dialog.Title>
          <nav aria-label="Pages" className="px-3">
            <Pages user={user} onChosen={() => setOpen(false)} />
          </nav>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** The workspace that the page shows, and the others. */
function WorkspaceMenu() {
  const { workspace, workspaces, open } = useShownWorkspace();
  const router = useRouter();
  if (workspace === undefined) return null;
  return (
    <Menu
      align="start"
      heading="Workspace"
      trigger={
        <Button look="quiet" small className="min-w-0 shrink">
          <span className="sr-only">Workspace:</span>
          <span title={workspace.name} className="max-w-36 truncate text-left sm:max-w-56">
            {workspace.name}
            {otherOwnerOf(workspace) !== undefined && (
              <span className="block truncate text-xs font-normal text-muted">{otherOwnerOf(workspace)}</span>
            )}
          </span>
          <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-muted" />
        </Button>
      }
      groups={[
        workspaces.map((one) => ({
          id: one.id,
          label: one.name,
          note: otherOwnerOf(one),
          checked: one.id === workspace.id,
          onSelect: () => open(one.id),
        })),
        [
          {
            label: 'Manage workspaces',
            icon: <Settings aria-hidden className="size-4" />,
            onSelect: () => void router.navigate({ to: '/workspaces' }),
          },
        ],
      ]}
    />
  );
}

function Balance() {
  const { data: balance } = useQuery(balanceQuery);
  const { workspace } = useWorkspace();
  // The owner of a workspace pays for it. There, one's own balance says nothing.
  if (balance === undefined || workspace?.role !== 'owner') return null;
  return (
    <Link
      to="/billing"
      title={`Available balance: ${formatExactUsd(balance.available)}${balance.reserved > 0 ? `, besides ${formatExactUsd(balance.reserved)} held for running requests` : ''}`}
      className={clsx(
        'rounded-lg px-2 py-1 text-sm font-medium tabular-nums hover:bg-raised',
        balance.available <= 0 && 'bg-warn-soft text-warn',
      )}
    >
      <span className="sr-only">{balance.available <= 0 ? 'Balance, empty: ' : 'Balance: '}</span>
      {formatBalance(balance.available)}
    </Link>
  );
}

const themeIcons: Record<Theme, typeof Sun> = { system: Monitor, light: Sun, dark: Moon };
const themeNames: Record<Theme, string> = { system: 'System', light: 'Light', dark: 'Dark' };

function ThemeMenu() {
  const { theme, choose } = useTheme();
  const Icon = themeIcons[theme];
  return (
    <Menu
      trigger={<IconButton label="Theme" icon={<Icon aria-hidden className="size-4.5" />} />}
      groups={[themes.map((one) => ({ label: themeNames[one], checked: one === theme, onSelect: () => choose(one) }))]}
    />
  );
}

function AccountMenu({ user }: { user: SignedInUser }) {
  const signOut = useSignOut();
  const router = useRouter();
  const announceError = useAnnounceError();
  return (
    <Menu
      heading={
        <span title={user.email} className="block max-w-64 truncate">
          {user.email}
        </span>
      }
      trigger={<IconButton label="Account" icon={<UserRound aria-hidden className="size-4.5" />} />}
      groups={[
        [
          {
            label: 'Account and security',
            icon: <Settings aria-hidden className="size-4" />,
            onSelect: () => void router.navigate({ to: '/account' }),
          },
          {
            label: 'Sign out',
            icon: <LogOut aria-hidden className="size-4" />,
            onSelect: () => void signOut().then(() => router.navigate({ to: '/sign-in' }), announceError),
          },
        ],
      ]}
    />
  );
}
