import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defaultClientConditions, defineConfig, type Plugin, runnerImport } from 'vite';

/** The page is served by the control plane, which puts a nonce of each answer in place of this. */
const noncePlaceholder = 'SOTTO_NONCE';

/** Where `npm run dev` has the planes. The page asks control by way of this server, and the broker directly. */
const controlOrigin = process.env.CONTROL_ORIGIN ?? 'http://127.0.0.1:4000';
const confidentialOrigin = process.env.CONFIDENTIAL_ORIGIN ?? 'http://127.0.0.1:4001';

/** Fills in what control fills in where it serves the built page. */
const devPage: Plugin = {
  name: 'sotto-dev-page',
  apply: 'serve',
  transformIndexHtml: (html) => html.replaceAll('SOTTO_CONFIDENTIAL_ORIGIN', confidentialOrigin),
};

const source = '@sotto/source';

/** Puts the fields of bodies into the page, and not the schemas from which they are read. */
const bodyFields: Plugin = {
  name: 'sotto-body-fields',
  async load(id) {
    if (!id.endsWith('/src/api/bodies.ts')) return null;
    const { module, dependencies } = await runnerImport<{ readonly bodies: unknown }>(id, {
      configFile: false,
      // Only the sources: a fresh clone has nothing built.
      environments: { inline: { resolve: { conditions: [source], noExternal: true } } },
    });
    for (const file of dependencies) this.addWatchFile(file);
    return `export const bodies = ${JSON.stringify(module.bodies)};`;
  },
};

/** All that the first page loads. One file instead of twenty. */
const firstPage = { name: 'first', tags: ['$initial' as const], priority: 2 };

/** Parts that several pages share, such as forms and tables. Without this, each page would load some twenty files. */
const parts = {
  name: 'parts',
  test: (id: string) =>
    !/\/packages\/(?:client|attestation|dialects)\/|recharts|\/docs\//.test(id) &&
    /\/dashboard\/src\/|\/radix-ui\/|\/@radix-ui\/|lucide-react/.test(id),
  minShareCount: 3,
  priority: 1,
};

/** `--mode playground` builds the page of `sotto playground`, which the command serves as it was built. */
const playground = 'playground';

export default defineConfig(({ mode }) => ({
  plugins: [react(), tailwindcss(), devPage, bodyFields],
  server: {
    host: '127.0.0.1',
    // Control takes a session from its own page only.
    proxy: { '/v1': { target: controlOrigin, changeOrigin: true, headers: { origin: controlOrigin } } },
  },
  resolve: { conditions: [source, ...defaultClientConditions] },
  ...(mode === playground ? {} : { html: { cspNonce: noncePlaceholder } }),
  build: {
    outDir: process.env.SOTTO_DASHBOARD_OUT ?? 'built',
    emptyOutDir: true,
    rolldownOptions: {
      input: mode === playground ? 'playground.html' : 'index.html',
      output: { codeSplitting: { groups: mode === playground ? [] : [firstPage, parts] } },
    },
    target: 'es2022',
    // Inlined files would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    // A page loads its scripts when it is opened; the polyfill would be an inline script.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
}));
