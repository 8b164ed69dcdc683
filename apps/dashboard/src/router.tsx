import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { readDocsSearch } from './format/read-search.ts';
import { HomePage } from './pages/home/home-page.tsx';
import { readKeySearch } from './pages/keys/key-rules.ts';
import { readModelSearch } from './pages/models/model-search.ts';
import { NotFoundPage } from './pages/not-found-page.tsx';
import { readMonthSearch } from './pages/operator/month-search.ts';
import { readPlaygroundSearch } from './pages/playground/playground-search.ts';
import { readShape } from './pages/routing/preview/request-shape.ts';
import { readUsageSearch } from './pages/usage/usage-search.ts';
import { readVerifySearch } from './pages/verify/verify-search.ts';
import { linkToken } from './session/link-token.ts';
import { safeReturnTo } from './session/return-to.ts';
import { sessionQuery, useSignedIn } from './session/session.ts';
import { Shell } from './shell/shell.tsx';
import { readActSearch } from './ui/act-search.ts';
import { Button } from './ui/button.tsx';
import { lazyPage, PageMissingError } from './ui/lazy-page.ts';
import { ErrorState, Page, PagePending } from './ui/surface.tsx';

interface RouterContext {
  readonly queryClient: QueryClient;
}

const rootRoute = createRootRouteWithContext<RouterContext>()({
  component: Shell,
  notFoundComponent: NotFoundPage,
  errorComponent: PageError,
});

/** Pages for signed-in users. Others sign in first and come back. */
const sessionRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'session',
  beforeLoad: async ({ context, location }) => {
    const user = await context.queryClient.ensureQueryData(sessionQuery);
    if (user !== null) return;
    // A person who was invited has most likely no account yet.
    const isInvited = location.pathname === '/invitations' && linkToken('invitations') !== null;
    throw redirect({ to: isInvited ? '/sign-up' : '/sign-in', search: { return_to: location.href } });
  },
  component: PagesOfUser,
});

/** Another user gets new pages, without what the previous one typed or created on them. */
function PagesOfUser() {
  const user = useSignedIn();
  return user ? <Outlet key={user.id} /> : <PagePending />;
}

/** A model's id is a path of its own: `/models/acme/small`. */
const modelsRoute = createRoute({ getParentRoute: () => rootRoute, path: '/models' });

// Each route is a constant: within `addChildren`, its types would all be inferred as `any`.
const homeRoute = createRoute({ getParentRoute: () => rootRoute, path: '/', component: HomePage });

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: (search): { return_to?: string; error?: string } => ({
    return_to: safeReturnTo(search.return_to),
    ...(typeof search.error === 'string' ? { error: search.error } : {}),
  }),
  component: lazyPage(() => import('./pages/sign-in/sign-in-page.tsx'), 'SignInPage'),
});

const signUpRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-up',
  validateSearch: (search): { return_to?: string } => ({ return_to: safeReturnTo(search.return_to) }),
  component: lazyPage(() => import('./pages/sign-in/sign-up-page.tsx'), 'SignUpPage'),
});

const forgotPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/forgot-password',
  component: lazyPage(() => import('./pages/sign-in/password-pages.tsx'), 'ForgotPasswordPage'),
});

const resetPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reset-password',
  component: lazyPage(() => import('./pages/sign-in/password-pages.tsx'), 'ResetPasswordPage'),
});

const verifyEmailRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/verify-email',
  component: lazyPage(() => import('./pages/sign-in/verify-email-page.tsx'), 'VerifyEmailPage'),
});

const modelListRoute = createRoute({
  getParentRoute: () => modelsRoute,
  path: '/',
  validateSearch: readModelSearch,
  component: lazyPage(() => import('./pages/models/models-page.tsx'), 'ModelsPage'),
});

const modelRoute = createRoute({
  getParentRoute: () => modelsRoute,
  path: '$',
  component: lazyPage(() => import('./pages/models/model-page.tsx'), 'ModelPage'),
});

const providerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/providers/$provider',
  component: lazyPage(() => import('./pages/models/provider-page.tsx'), 'ProviderPage'),
});

const verifyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/verify',
  validateSearch: readVerifySearch,
  component: lazyPage(() => import('./pages/verify/verify-page.tsx'), 'VerifyPage'),
});

const accountRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/account',
  component: lazyPage(() => import('./pages/account/account-page.tsx'), 'AccountPage'),
});

const invitationsRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/invitations',
  component: lazyPage(() => import('./pages/invitations/invitations-page.tsx'), 'InvitationsPage'),
});

const keysRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/keys',
  validateSearch: readKeySearch,
  component: lazyPage(() => import('./pages/keys/keys-page.tsx'), 'KeysPage'),
});

const usageRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/usage',
  validateSearch: readUsageSearch,
  component: lazyPage(() => import('./pages/usage/usage-page.tsx'), 'UsagePage'),
});

const budgetsRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/budgets',
  component: lazyPage(() => import('./pages/budgets/budgets-page.tsx'), 'BudgetsPage'),
});

const billingRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/billing',
  validateSearch: (search): { order?: string; checkout?: 'done' | 'left' } => ({
    ...(typeof search.order === 'string' ? { order: search.order } : {}),
    ...(search.checkout === 'done' || search.checkout === 'left' ? { checkout: search.checkout } : {}),
  }),
  component: lazyPage(() => import('./pages/billing/billing-page.tsx'), 'BillingPage'),
});

const appsRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/apps',
  validateSearch: (search): { view?: 'developer' } => (search.view === 'developer' ? { view: 'developer' } : {}),
  component: lazyPage(() => import('./pages/apps/apps-page.tsx'), 'AppsPage'),
});

const consentRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/connect/consent',
  validateSearch: (search): { uid: string } => ({ uid: String(search.uid ?? '') }),
  component: lazyPage(() => import('./pages/consent/consent-page.tsx'), 'ConsentPage'),
});

const workspacesRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/workspaces',
  component: lazyPage(() => import('./pages/workspaces/workspaces-page.tsx'), 'WorkspacesPage'),
});

const workspaceRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/workspaces/$workspaceId',
  component: lazyPage(() => import('./pages/workspaces/workspace-page.tsx'), 'WorkspacePage'),
});

const auditLog = {
  getParentRoute: () => sessionRoute,
  validateSearch: readActSearch,
  component: lazyPage(() => import('./pages/workspaces/audit-log-page.tsx'), 'AuditLogPage'),
};
const auditLogRoute = createRoute({ ...auditLog, path: '/audit' });
const workspaceAuditLogRoute = createRoute({ ...auditLog, path: '/workspaces/$workspaceId/audit' });

const accountsRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/operator/accounts',
  component: lazyPage(() => import('./pages/operator/accounts-page.tsx'), 'AccountsPage'),
});

const accountDetailRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/operator/accounts/$accountId',
  component: lazyPage(() => import('./pages/operator/account-detail-page.tsx'), 'AccountDetailPage'),
});

const spendRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/operator/spend',
  validateSearch: readMonthSearch,
  component: lazyPage(() => import('./pages/operator/spend-page.tsx'), 'SpendPage'),
});

const operatorAuditRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/operator/audit',
  validateSearch: readActSearch,
  component: lazyPage(() => import('./pages/operator/operator-audit-page.tsx'), 'OperatorAuditPage'),
});

const providersRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/operator/providers',
  component: lazyPage(() => import('./pages/operator/providers-page.tsx'), 'ProvidersPage'),
});

const allOrdersRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/operator/orders',
  validateSearch: readMonthSearch,
  component: lazyPage(() => import('./pages/operator/all-orders-page.tsx'), 'AllOrdersPage'),
});

const booksRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/operator/books',
  component: lazyPage(() => import('./pages/operator/books-page.tsx'), 'BooksPage'),
});

const signUpPolicyRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/operator/sign-up',
  component: lazyPage(() => import('./pages/operator/sign-up-policy-page.tsx'), 'SignUpPolicyPage'),
});

const playgroundRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/playground',
  validateSearch: readPlaygroundSearch,
  component: lazyPage(() => import('./pages/playground/playground-page.tsx'), 'PlaygroundPage'),
});

const routingRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/routing',
  validateSearch: readShape,
  component: lazyPage(() => import('./pages/routing/routing-page.tsx'), 'RoutingPage'),
});

const referenceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reference',
  validateSearch: readDocsSearch,
});

const loadReference = () => import('./pages/reference/reference-page.tsx');

const operationsRoute = createRoute({
  getParentRoute: () => referenceRoute,
  path: '/',
  component: lazyPage(loadReference, 'ReferencePage'),
});

const operationRoute = createRoute({
  getParentRoute: () => referenceRoute,
  path: '/$origin/$operation',
  component: lazyPage(loadReference, 'ReferencePage'),
});

const guidesRoute = createRoute({ getParentRoute: () => rootRoute, path: '/guides', validateSearch: readDocsSearch });

const loadGuides = () => import('./pages/guides/guides-page.tsx');

const guideListRoute = createRoute({
  getParentRoute: () => guidesRoute,
  path: '/',
  component: lazyPage(loadGuides, 'GuidesPage'),
});

const guideRoute = createRoute({
  getParentRoute: () => guidesRoute,
  path: '/$',
  component: lazyPage(loadGuides, 'GuidesPage'),
});

const statusRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/status',
  component: lazyPage(() => import('./pages/status/status-page.tsx'), 'StatusPage'),
});

const firstStepsRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: '/first-steps',
  component: lazyPage(() => import('./pages/home/first-steps.tsx'), 'FirstStepsPage'),
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
  providerRoute,
  statusRoute,
  guidesRoute.addChildren([guideListRoute, guideRoute]),
  referenceRoute.addChildren([operationsRoute, operationRoute]),
  sessionRoute.addChildren([
    accountRoute,
    invitationsRoute,
    firstStepsRoute,
    keysRoute,
    usageRoute,
    budgetsRoute,
    billingRoute,
    appsRoute,
    consentRoute,
    workspacesRoute,
    workspaceRoute,
    auditLogRoute,
    workspaceAuditLogRoute,
    accountsRoute,
    accountDetailRoute,
    spendRoute,
    operatorAuditRoute,
    providersRoute,
    allOrdersRoute,
    booksRoute,
    signUpPolicyRoute,
    playgroundRoute,
    routingRoute,
  ]),
]);

/** The pages by their addresses. Each is loaded when the user first opens it or points at a link to it. */
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

/** Replaces a page that failed. The menu stays. */
function PageError({ error, reset }: ErrorComponentProps) {
  const retry = async (): Promise<void> => {
    if (error instanceof PageMissingError) await error.again();
    reset();
  };
  return (
    <Page title="This page is not available">
      <ErrorState error={error} onRetry={() => void retry()}>
        {error instanceof PageMissingError && error.isRepeated && (
          <Button onClick={() => window.location.reload()}>Reload the page</Button>
        )}
      </ErrorState>
    </Page>
  );
}
