import {
  Activity,
  BookCheck,
  BookOpen,
  Boxes,
  Braces,
  Building2,
  CreditCard,
  Gauge,
  HeartPulse,
  KeyRound,
  LayoutDashboard,
  MessageSquare,
  Plug,
  Receipt,
  Route,
  ScrollText,
  Server,
  ShieldCheck,
  UserPlus,
  Users,
  Wallet,
} from 'lucide-react';

/** The pages of the menu. `session`: shown only to signed-in users. */
export const navigation = [
  { to: '/', label: 'Overview', icon: LayoutDashboard, session: true },
  { to: '/playground', label: 'Playground', icon: MessageSquare, session: true },
  { to: '/models', label: 'Models', icon: Boxes, session: false },
  { to: '/routing', label: 'Routing', icon: Route, session: true },
  { to: '/keys', label: 'Keys', icon: KeyRound, session: true },
  { to: '/usage', label: 'Usage', icon: Activity, session: true },
  { to: '/budgets', label: 'Budgets', icon: Gauge, session: true },
  { to: '/billing', label: 'Billing', icon: CreditCard, session: true },
  { to: '/workspaces', label: 'Workspaces', icon: Building2, session: true },
  // For admins of the chosen workspace.
  { to: '/audit', label: 'Audit log', icon: ScrollText, session: true },
  { to: '/guides', label: 'Guides', icon: BookOpen, session: false },
  { to: '/reference', label: 'API reference', icon: Braces, session: false },
  { to: '/status', label: 'Status', icon: HeartPulse, session: false },
  { to: '/verify', label: 'Verify', icon: ShieldCheck, session: false },
  // Last, because it appears a moment later, once the capabilities are known, and must not move the others.
  { to: '/apps', label: 'Connected apps', icon: Plug, session: true },
] as const;

/**
 * The groups of the menu, by the pages in them. The last one has every page that no group names, and those that appear a
 * moment later, which so move no other.
 */
export const navigationGroups: readonly { readonly title?: string; readonly pages: readonly string[] }[] = [
  { pages: ['/'] },
  { title: 'Build', pages: ['/playground', '/models', '/routing', '/keys'] },
  { title: 'Monitor', pages: ['/usage', '/budgets', '/audit', '/status'] },
  { title: 'Docs', pages: ['/guides', '/reference', '/verify'] },
  { title: 'Account', pages: [] },
];

/** The pages that only operators see. */
export const operatorNavigation = [
  { to: '/operator/accounts', label: 'Accounts', icon: Users },
  { to: '/operator/spend', label: 'Spend', icon: Wallet },
  { to: '/operator/providers', label: 'Providers', icon: Server },
  { to: '/operator/orders', label: 'Orders', icon: Receipt },
  { to: '/operator/books', label: 'Ledger', icon: BookCheck },
  { to: '/operator/audit', label: 'Deployment audit log', icon: ScrollText },
  { to: '/operator/sign-up', label: 'Sign-up policy', icon: UserPlus },
] as const;

export type MenuPage = (typeof navigation)[number] | (typeof operatorNavigation)[number];

const slashKey = 'sotto.slash';

/** Whether `/` is a shortcut in this browser. A key without Ctrl or ⌘ must be possible to turn off (WCAG 2.1.4). */
export const slashShortcut = {
  isOn: (): boolean => localStorage.getItem(slashKey) !== 'off',
  toggle: (): void => localStorage.setItem(slashKey, slashShortcut.isOn() ? 'off' : 'on'),
};
