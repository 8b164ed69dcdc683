import type { FastifyInstance } from 'fastify';

export interface FirstStepsOptions {
  readonly controlOrigin: string;
  readonly confidentialOrigin: string;
}

/** A plain page at `/` that shows the first steps. It holds no key: whoever can open it may not be whom a key is for. */
export function registerFirstSteps(app: FastifyInstance, options: FirstStepsOptions): void {
  const page = render(options);
  app.get('/', async (_request, reply) => {
    reply
      .header('content-type', 'text/html; charset=utf-8')
      .header(
        'content-security-policy',
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
      )
      .header('referrer-policy', 'no-referrer')
      .header('cache-control', 'no-cache');
    return page;
  });
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

function render({ controlOrigin, confidentialOrigin }: FirstStepsOptions): string {
  const body = `'{"model":"demo/chat","messages":[{"role":"user","content":"Hello"}]}'`;
  const block = (lines: readonly string[]): string => `<pre>${escapeHtml(lines.join('\n'))}</pre>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sotto: first steps</title>
<style>
  :root { color-scheme: light dark; --line: #8884; --soft: #8881; }
  body { font: 1rem/1.6 system-ui, sans-serif; max-width: 46rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
  h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
  pre { background: var(--soft); border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; overflow-x: auto; font-size: .85rem; }
  table { border-collapse: collapse; } td { padding: .15rem 1.2rem .15rem 0; }
  code { font-size: .9em; }
</style>
</head>
<body>
<h1>Sotto is running</h1>
<p>A model router that keeps who asks apart from what is asked.</p>
<table>
<tr><td>Control origin</td><td><code>${escapeHtml(controlOrigin)}/v1</code></td></tr>
<tr><td>Confidential origin</td><td><code>${escapeHtml(confidentialOrigin)}/v1</code></td></tr>
</table>
<h2>1. Your key</h2>
<p>With <code>npm start</code>, a working key was printed in the terminal and stands in <code>quickstart.json</code> of the data directory, beside an account to sign in with. Put it into the environment:</p>
${block(['export INFERENCE_KEY=sotto_inf_…'])}
<h2>2. Compatibility mode</h2>
<p>Any OpenAI client works with this address and key. The broker sees key and content together while the request runs.</p>
${block([`curl ${confidentialOrigin}/v1/chat/completions \\`, `  -H "authorization: Bearer $INFERENCE_KEY" -H 'content-type: application/json' \\`, `  -d ${body}`])}
<h2>3. The private flow</h2>
<p>The key goes to control only, the content to the broker only; a single-use ticket is all that they share.</p>
${block([
  `TICKET=$(curl -s ${controlOrigin}/v1/inference/tickets \\`,
  `  -H "authorization: Bearer $INFERENCE_KEY" -H 'content-type: application/json' \\`,
  `  -d '{"model":"demo/chat"}' | sed 's/.*"ticket":"\\([^"]*\\)".*/\\1/')`,
  `curl ${confidentialOrigin}/v1/chat/completions \\`,
  `  -H "x-router-ticket: $TICKET" -H 'content-type: application/json' \\`,
  `  -d ${body}`,
])}
<h2>4. What there is</h2>
<p>The models and their providers, tiers and prices: <a href="/v1/catalog/models">/v1/catalog/models</a>. What this deployment offers: <a href="/v1/capabilities">/v1/capabilities</a>. Every endpoint of both origins, to read: <a href="/v1/docs">/v1/docs</a>; for tools: <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>
</body>
</html>
`;
}
