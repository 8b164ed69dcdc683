import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defaultClientConditions, defineConfig } from 'vite';

/** The page is served by the control plane, which puts a nonce of each answer in place of this. */
const noncePlaceholder = 'SOTTO_NONCE';

export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { conditions: ['@sotto/source', ...defaultClientConditions] },
  html: { cspNonce: noncePlaceholder },
  build: {
    outDir: process.env.SOTTO_DASHBOARD_OUT ?? 'built',
    emptyOutDir: true,
    target: 'es2022',
    // Inlined files would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    // What a route needs is asked for when it is opened; the polyfill would be an inline script.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
