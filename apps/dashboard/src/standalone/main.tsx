import '../styles.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { startTheme } from '../shell/theme.ts';
import { Toasts } from '../ui/toasts.tsx';
import { takeToken } from './page-token.ts';
import { StandalonePage } from './standalone-page.tsx';

startTheme();
takeToken();
// A printed address that is opened in the tab of an earlier one changes the fragment only, and loads nothing.
window.addEventListener('hashchange', () => {
  if (takeToken()) window.location.reload();
});

const queryClient = new QueryClient({ defaultOptions: { queries: { staleTime: 15_000, retry: false } } });
const root = document.getElementById('root');
if (root === null) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Toasts>
        <StandalonePage />
      </Toasts>
    </QueryClientProvider>
  </StrictMode>,
);
