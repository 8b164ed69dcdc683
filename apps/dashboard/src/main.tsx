import './styles.css';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/errors.ts';
import { preloadHome } from './pages/home/home-page.tsx';
import { startHome } from './pages/home/home-queries.ts';
import { makeRouter } from './router.tsx';
import { rememberedHome } from './session/last-home.ts';
import { takeLinkToken } from './session/link-token.ts';
import { followOtherTabs, sessionEnded, sessionQuery } from './session/session.ts';
import { startTheme } from './shell/theme.ts';
import { Toasts } from './ui/toasts.tsx';

/** Retries reads whose error may be temporary. Never retries a change: a second order is worse than an error. */
function makeQueryClient(onSessionEnded: () => void): QueryClient {
  const watch = (error: unknown): void => {
    if (error instanceof ApiError && error.type === 'unauthenticated') onSessionEnded();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError: watch }),
    mutationCache: new MutationCache({ onError: watch }),
    defaultOptions: {
      queries: {
        staleTime: 15_000,
        retry: (count, error) => count < 2 && isPassing(error),
        retryDelay: (count, error) =>
          error instanceof ApiError && error.retryAfterS !== undefined
            ? Math.min(error.retryAfterS, 10) * 1000
            : 400 * 2 ** count,
      },
      // A change holds what was typed, such as a password. It is forgotten once its form is gone.
      mutations: { retry: false, gcTime: 1000 },
    },
  });
}

const isPassing = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 502);

// The scroll lock of dialogs adds a style element, which the content security policy allows by this nonce only.
setNonce(document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '');
startTheme();

const queryClient = makeQueryClient(() => {
  // The user may have typed something on this page, so it stays.
  if (queryClient.getQueryData(sessionQuery.queryKey)) sessionEnded.update(() => true);
});
takeLinkToken();
// A link that is opened in a tab with its page changes the address only, and loads nothing.
window.addEventListener('hashchange', () => {
  if (takeLinkToken()) window.location.reload();
});
const router = makeRouter(queryClient);
followOtherTabs(queryClient, () => void router.invalidate());
const home = window.location.pathname === '/' ? rememberedHome() : undefined;
if (home !== undefined) {
  preloadHome();
  startHome(queryClient, home, Date.now());
}

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no #root');
createRoot(root, {
  // The page shows the errors of the service. All others are ours.
  onCaughtError: (error) => {
    if (!(error instanceof ApiError)) console.error(error);
  },
}).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Toasts>
        <RouterProvider router={router} />
      </Toasts>
    </QueryClientProvider>
  </StrictMode>,
);
