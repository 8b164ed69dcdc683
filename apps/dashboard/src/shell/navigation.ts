import {
  Activity,
  Boxes,
  Building2,
  CreditCard,
  KeyRound,
  MessageSquare,
  Plug,
  Rocket,
  Route,
  ShieldCheck,
} from 'lucide-react';

/** The pages of the menu, in the order in which one meets them. `session`: there only for those who are signed in. */
export const navigation = [
  { to: '/', label: 'First steps', icon: Rocket, session: true },
  { to: '/playground', label: 'Playground', icon: MessageSquare, session: true },
  { to: '/models', label: 'Models', icon: Boxes, session: false },
  { to: '/routing', label: 'Routing', icon: Route, session: true },
  { to: '/keys', label: 'Keys', icon: KeyRound, session: true },
  { to: '/usage', label: 'Usage', icon: Activity, session: true },
  { to: '/billing', label: 'Billing', icon: CreditCard, session: true },
  { to: '/workspaces', label: 'Workspaces', icon: Building2, session: true },
  { to: '/verify', label: 'Verify', icon: ShieldCheck, session: false },
  // Last: whether it is offered is known a moment later, and nothing may jump then.
  { to: '/apps', label: 'Connected apps', icon: Plug, session: true },
] as const;
