import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { makeQueryClient } from './api/query-client.ts';
import { makeRouter } from './router.tsx';
import { takeLinkToken } from './session/link-token.ts';
import { leaveSession } from './session/session.ts';
import { startTheme } from './shell/theme.ts';
import { Toasts } from './ui/toasts.tsx';
import './styles.css';

// What locks scrolling behind a dialog writes a style element, which the content security policy lets in by this alone.
setNonce(document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '');
startTheme();

const queryClient = makeQueryClient(() => {
  leaveSession(queryClient);
  void router.invalidate();
});
for (const page of ['verify-email', 'reset-password', 'invitations'] as const) {
  if (window.location.pathname === `/${page}`) takeLinkToken(page);
}
const router = makeRouter(queryClient);

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Toasts>
        <RouterProvider router={router} />
      </Toasts>
    </QueryClientProvider>
  </StrictMode>,
);
