import { createHash } from 'node:crypto';
import { escaped } from '../../serve/escaped.ts';

const style = `:root{color-scheme:light dark}body{font:1rem/1.6 system-ui,sans-serif;max-width:32rem;margin:0 auto;padding:3rem 1rem}h1{font-size:1.4rem}button{font:inherit;padding:.5rem 1.2rem;margin-right:1rem}code{overflow-wrap:anywhere}`;

/**
 * Content security policy of every page that the protocol shows: its own style, and no scripts. If the library adds a
 * script (a form that submits itself), it adds the script's digest to `script-src`.
 */
export const protocolPagePolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; script-src; base-uri 'none'; frame-ancestors 'none'`;

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${body}
</main>
</body>
</html>
`;

/** Shown to a person if an error cannot be returned to the app. */
export const errorPage = (error: string, description: string | undefined): string =>
  page(
    'This connection did not work',
    `<p>The app asked for something that cannot be done. Go back to the app and start again; if it happens again, its developer can use this:</p>
<p><code>${escaped(error)}</code>${description === undefined ? '' : `: ${escaped(description)}`}</p>`,
  );

/** Asks the person before a connection ends. `form` comes from the library, with its protection against forgery. */
export const logoutPage = (appName: string | undefined, form: string): string =>
  appName === undefined
    ? page(
        'Which app?',
        '<p>The request to sign out names no app. Connected apps are listed, and disconnected, on the <a href="/apps">apps page</a>.</p>',
      )
    : page(
        `Sign out of ${appName}?`,
        `<p>Its connection from this browser ends, and it can do nothing more for you. You stay signed in here.</p>
${form}
<p><button type="submit" form="op.logoutForm">Sign out</button> <a href="/apps">Keep it connected</a></p>`,
      );

/** Shown if the app did not give an address to return to. */
export const loggedOutPage = (): string => page('Signed out', '<p>You can close this page.</p>');
