import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouter, useRouterState } from '@tanstack/react-router';
import clsx from 'clsx';
import { ChevronsUpDown, LogOut, Menu as MenuIcon, Monitor, Moon, Settings, Sun, UserRound, X } from 'lucide-react';
import { Dialog } from 'radix-ui';
import { useEffect, useRef, useState } from 'react';
import { balanceQuery } from '../api/balance.ts';
import { sentenceOf } from '../api/call.ts';
import { capabilitiesQuery } from '../api/capabilities.ts';
import { formatUsd } from '../format/money.ts';
import { type SignedInUser, useSignedIn, useSignOut } from '../session/session.ts';
import { Button, buttonClass, IconButton } from '../ui/button.tsx';
import { Menu } from '../ui/menu.tsx';
import { useAnnounce } from '../ui/toasts.tsx';
import { ChosenWorkspaceProvider, useChosenWorkspace, useWorkspace } from '../workspaces/workspaces.ts';
import { navigation } from './navigation.ts';
import { type Theme, themes, useTheme } from './theme.ts';

/** What stands around every page: the menu, the workspace, the balance, who is signed in. */
export function Shell() {
  const user = useSignedIn();
  const chosen = useChosenWorkspace(user !== null && user !== undefined);
  return (
    <ChosenWorkspaceProvider value={chosen}>
      <a
        href="#content"
        className="sr-only z-50 rounded-lg bg-accent px-4 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
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
    </ChosenWorkspaceProvider>
  );
}

/** The page itself. A change of page moves the focus here, so that readers begin at its title. */
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

function Pages({ user, onChosen }: { user: SignedInUser | null | undefined; onChosen?: () => void }) {
  const { data: capabilities } = useQuery(capabilitiesQuery);
  const shown = navigation.filter(
    ({ to, session }) => (!session || user) && (to !== '/apps' || capabilities?.connected_apps.enabled === true),
  );
  return (
    <ul className="space-y-0.5">
      {shown.map(({ to, label, icon: Icon }) => (
        <li key={to}>
          <Link
            to={to}
            activeOptions={{ exact: to === '/' }}
            {...(onChosen === undefined ? {} : { onClick: onChosen })}
            className="flex min-h-10 items-center gap-3 rounded-lg px-3 text-muted hover:bg-raised hover:text-text"
            activeProps={{ className: 'bg-accent-soft text-accent-strong! font-medium', 'aria-current': 'page' }}
          >
            <Icon aria-hidden className="size-4.5 shrink-0" />
            {label}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function TopBar({ user }: { user: SignedInUser | null | undefined }) {
  return (
    <header className="sticky top-0 z-30 flex min-h-14 items-center gap-2 border-b border-line bg-surface px-3 sm:px-5">
      <Drawer user={user} />
      {user && <WorkspaceMenu />}
      <div className="ml-auto flex items-center gap-1 sm:gap-2">
        {user && <Balance />}
        <ThemeMenu />
        {user && <AccountMenu user={user} />}
        {user === null && (
          <>
            <Link to="/sign-in" className={buttonClass('quiet', true)}>
              Sign in
            </Link>
            <Link to="/sign-up" className={buttonClass('primary', true)}>
              Sign up
            </Link>
          </>
        )}
      </div>
    </header>
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

function WorkspaceMenu() {
  const { workspace, workspaces, choose } = useWorkspace();
  const router = useRouter();
  if (workspace === undefined) return null;
  return (
    <Menu
      align="start"
      heading="Workspace"
      trigger={
        <Button look="quiet" small className="min-w-0 shrink">
          <span className="sr-only">Workspace:</span>
          <span className="max-w-24 truncate sm:max-w-56">{workspace.name}</span>
          <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-muted" />
        </Button>
      }
      groups={[
        workspaces.map(({ id, name }) => ({
          label: name,
          checked: id === workspace.id,
          onSelect: () => choose(id),
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
  if (balance === undefined) return null;
  return (
    <Link
      to="/billing"
      title="Balance: what can be spent now"
      className={clsx(
        'rounded-lg px-2 py-1 text-sm font-medium tabular-nums hover:bg-raised',
        balance.available <= 0 && 'bg-warn-soft text-warn',
      )}
    >
      <span className="sr-only">{balance.available <= 0 ? 'Balance, empty: ' : 'Balance: '}</span>
      {formatUsd(balance.available)}
    </Link>
  );
}

const themeIcons: Record<Theme, typeof Sun> = { system: Monitor, light: Sun, dark: Moon };
const themeNames: Record<Theme, string> = { system: 'As the system', light: 'Light', dark: 'Dark' };

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
  const announce = useAnnounce();
  return (
    <Menu
      heading={<span className="block max-w-64 truncate">{user.email}</span>}
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
            onSelect: () =>
              void signOut().then(
                () => router.navigate({ to: '/sign-in' }),
                (error: unknown) => announce({ tone: 'danger', text: sentenceOf(error) }),
              ),
          },
        ],
      ]}
    />
  );
}
