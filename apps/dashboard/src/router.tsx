import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { HomePage } from './pages/home/home-page.tsx';
import { readKeySearch } from './pages/keys/key-search.ts';
import { readModelSearch } from './pages/models/model-search.ts';
import { NotFoundPage } from './pages/not-found-page.tsx';
import { readPlaygroundSearch } from './pages/playground/playground-search.ts';
import { readShape } from './pages/routing/preview/request-shape.ts';
import { readUsageSearch } from './pages/usage/usage-search.ts';
import { readVerifySearch } from './pages/verify/verify-search.ts';
import { safeReturnTo } from './session/return-to.ts';
import { sessionQuery } from './session/session.ts';
import { Shell } from './shell/shell.tsx';
import { Skeleton } from './ui/skeleton.tsx';
import { ErrorState } from './ui/surface.tsx';

interface RouterContext {
  readonly queryClient: QueryClient;
}

const rootRoute = createRootRouteWithContext<RouterContext>()({
  component: Shell,
  notFoundComponent: NotFoundPage,
  errorComponent: PageError,
});

/** Pages for whoever is signed in; others sign in first and come back. */
const sessionRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'session',
  beforeLoad: async ({ context, location }) => {
    const user = await context.queryClient.ensureQueryData(sessionQuery);
    if (user === null) throw redirect({ to: '/sign-in', search: { return_to: location.href } });
  },
});

/** A model's id is a path of its own: `/models/acme/small`. */
const modelsRoute = createRoute({ getParentRoute: () => rootRoute, path: '/models' });

// Each by its name: made within `addChildren`, a route takes its types from the place where it stands, which are all `any`.
const homeRoute = createRoute({ getParentRoute: () => rootRoute, path: '/', component: HomePage });

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: (search): { return_to?: string; error?: string } => ({
    return_to: safeReturnTo(search.return_to),
    ...(typeof search.error === 'string' ? { error: search.error } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/sign-in/sign-in-page.tsx'), 'SignInPage'),
});

const signUpRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-up',
  validateSearch: (search): { return_to?: string } => ({ return_to: safeReturnTo(search.return_to) }),
  component: lazyRouteComponent(() => import('./pages/sign-in/sign-up-page.tsx'), 'SignUpPage'),
});

const forgotPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/forgot-password',
  component: lazyRouteComponent(() => import('./pages/sign-in/forgot-password-page.tsx'), 'ForgotPasswordPage'),
});

const resetPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reset-password',
  component: lazyRouteComponent(() => import('./pages/sign-in/reset-password-page.tsx'), 'ResetPasswordPage'),
});

const verifyEmailRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/verify-email',
  component: lazyRouteComponent(() => import('./pages/sign-in/verify-email-page.tsx'), 'VerifyEmailPage'),
});

const modelListRoute = createRoute({
  getParentRoute: () => modelsRoute,
  path: '/',
  validateSearch: readModelSearch,
  component: lazyRouteComponent(() => import('./pages/models/models-page.tsx'), 'ModelsPage'),
});

const modelRoute = createRoute({
  getParentRoute: () => modelsRoute,
  path: '$',
  component: lazyRouteComponent(() => import('./pages/models/model-page.tsx'), 'ModelPage'),
});

const verifyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/verify',
  validateSearch: readVerifySearch,
  component: lazyRouteComponent(() => import('./pages/verify/verify-page.tsx'), 'VerifyPage'),
});

const accountRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/account',
  component: lazyRouteComponent(() => import('./pages/account/account-page.tsx'), 'AccountPage'),
});

const invitationsRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/invitations',
  component: lazyRouteComponent(() => import('./pages/invitations/invitations-page.tsx'), 'InvitationsPage'),
});

const keysRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/keys',
  validateSearch: readKeySearch,
  component: lazyRouteComponent(() => import('./pages/keys/keys-page.tsx'), 'KeysPage'),
});

const usageRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/usage',
  validateSearch: readUsageSearch,
  component: lazyRouteComponent(() => import('./pages/usage/usage-page.tsx'), 'UsagePage'),
});

const billingRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/billing',
  validateSearch: (search): { order?: string; checkout?: 'done' | 'left' } => ({
    ...(typeof search.order === 'string' ? { order: search.order } : {}),
    ...(search.checkout === 'done' || search.checkout === 'left' ? { checkout: search.checkout } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/billing/billing-page.tsx'), 'BillingPage'),
});

const appsRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/apps',
  validateSearch: (search): { view?: 'developer' } => (search.view === 'developer' ? { view: 'developer' } : {}),
  component: lazyRouteComponent(() => import('./pages/apps/apps-page.tsx'), 'AppsPage'),
});

const consentRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/connect/consent',
  validateSearch: (search): { uid: string } => ({ uid: String(search.uid ?? '') }),
  component: lazyRouteComponent(() => import('./pages/consent/consent-page.tsx'), 'ConsentPage'),
});

const workspacesRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/workspaces',
  component: lazyRouteComponent(() => import('./pages/workspaces/workspaces-page.tsx'), 'WorkspacesPage'),
});

const workspaceRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/workspaces/$workspaceId',
  component: lazyRouteComponent(() => import('./pages/workspaces/workspace-page.tsx'), 'WorkspacePage'),
});

const playgroundRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/playground',
  validateSearch: readPlaygroundSearch,
  component: lazyRouteComponent(() => import('./pages/playground/playground-page.tsx'), 'PlaygroundPage'),
});

const routingRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/routing',
  validateSearch: readShape,
  component: lazyRouteComponent(() => import('./pages/routing/routing-page.tsx'), 'RoutingPage'),
});

const routes = rootRoute.addChildren([
  homeRoute,
  signInRoute,
  signUpRoute,
  forgotPasswordRoute,
  resetPasswordRoute,
  verifyEmailRoute,
  verifyRoute,
  modelsRoute.addChildren([modelListRoute, modelRoute]),
  sessionRoute.addChildren([
    accountRoute,
    invitationsRoute,
    keysRoute,
    usageRoute,
    billingRoute,
    appsRoute,
    consentRoute,
    workspacesRoute,
    workspaceRoute,
    playgroundRoute,
    routingRoute,
  ]),
]);

/** The pages by their addresses. Each is loaded when it is first opened, or pointed at. */
export const makeRouter = (queryClient: QueryClient) =>
  createRouter({
    routeTree: routes,
    context: { queryClient },
    defaultPreload: 'intent',
    defaultPendingMs: 150,
    defaultPendingComponent: PagePending,
    defaultErrorComponent: PageError,
    scrollRestoration: true,
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}

function PagePending() {
  return (
    <div role="status" aria-label="The page is loading" className="space-y-4 px-4 py-6 sm:px-6 lg:px-8">
      <Skeleton className="h-8 w-56" />
      <Skeleton className="h-40 w-full" />
    </div>
  );
}

function PageError({ error, reset }: ErrorComponentProps) {
  return (
    <div className="px-4 py-6 sm:px-6 lg:px-8">
      <ErrorState error={error} onRetry={reset} />
    </div>
  );
}
