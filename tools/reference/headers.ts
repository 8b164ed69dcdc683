import { buildDocument, type OpenApiDocument, responseOf } from '@sotto/contract';
import { confidentialOrigin } from '@sotto/contract/confidential';
import { controlOrigin } from '@sotto/contract/control';
import { type RelayRule, relayRules } from '@sotto/wire';
import { code, generated, table } from './markdown.ts';

type Row = readonly [header: string, origin: string, where: string, meaning: string];

const origins = [
  { name: 'control', document: buildDocument(controlOrigin) },
  { name: 'broker', document: buildDocument(confidentialOrigin) },
];

const intro = `# Headers

Look up every header that you can send to Sotto or get from it, at both origins. "Inference" means the routes that accept a ticket for inference, such as \`POST /v1/chat/completions\`.

Header names are not case-sensitive. Sotto ignores request headers that are not listed here, such as \`HTTP-Referer\` and \`X-Title\`.`;

/**
 * Transport headers, which contracts do not list. `packages/server` and `apps/control` read and write them on every
 * route.
 */
const ofTransport: readonly Row[] = [
  ['host', 'both', 'every request', 'Required with HTTP/1.1.'],
  [
    'content-type',
    'both',
    'requests with a body',
    '`application/json`, unless the route accepts more. Otherwise 415 `unsupported_media_type`.',
  ],
  ['content-encoding', 'both', 'requests with a body', 'Only `identity`: a compressed body is refused with 415.'],
  ['accept', 'control', 'usage and receipts', '`text/csv`, `text/html` or `application/pdf` select that form.'],
  [
    'origin, referer, sec-fetch-site',
    'control',
    'requests with a session',
    "If sent, must tell of control's own origin, unless the request only reads. `sec-fetch-site: same-origin` counts before `origin`.",
  ],
  [
    'x-forwarded-for, x-forwarded-host, x-forwarded-proto',
    'both',
    'behind a proxy',
    'Believed only from proxies that `TRUST_PROXY` names.',
  ],
];

const answered: readonly Row[] = [
  ['content-type', 'both', 'answers with a body', 'Media type of the body.'],
  ['cache-control', 'both', 'every route', '`no-store`, except for public catalog data, documents and files.'],
  [
    'access-control-allow-origin, access-control-expose-headers',
    'both',
    'routes without cookies',
    '`*`, so that pages of any origin may call them.',
  ],
  ['allow', 'both', '405 errors', 'Methods that the address accepts.'],
  ['x-ratelimit-limit', 'control', 'limited routes', 'Requests per minute.'],
  ['x-ratelimit-remaining', 'control', 'limited routes', 'Requests that remain in this minute.'],
  ['x-ratelimit-reset', 'control', 'limited routes', 'Whole seconds until the minute ends.'],
  ['x-content-type-options', 'control', 'every route', '`nosniff`.'],
  ['content-security-policy', 'control', 'pages', 'The sources that the page may load from.'],
  ['content-disposition', 'control', 'CSV and PDF', 'File name for the download.'],
  ['set-cookie', 'control', 'sign-in and sign-out', 'The session cookie.'],
];

/** Builds the page of all request and response headers. */
export const headersPage = (): string =>
  [
    generated,
    intro,
    '## Credentials',
    'Send one of these.',
    table(['Header', 'Origin', 'Credential'], credentialRows()),
    '## Other request headers',
    headerTable([...requestRows(), ...ofTransport]),
    '`host`, `authorization`, `content-type` and `content-encoding` may be sent once only.',
    '## Headers of encrypted requests',
    'A chat request that is encrypted for an enclave has `x-router-e2ee` and the headers of its provider family. The broker passes exactly these on. See [end-to-end encryption](../use/end-to-end-encryption.md).',
    table(['Family', 'Request', 'Answer'], familyRows()),
    '## Response headers',
    headerTable([...responseRows(), ...answered]),
  ]
    .join('\n\n')
    .concat('\n');

const headerTable = (rows: readonly Row[]): string =>
  table(
    ['Header', 'Origin', 'Where', 'Meaning'],
    rows.map(([header, origin, where, meaning]) => [header.split(', ').map(code).join(', '), origin, where, meaning]),
  );

/** Returns `both` if both origins have a row with this key. */
function merge(rowsOf: (document: OpenApiDocument, origin: string) => readonly Row[]): Row[] {
  const merged = new Map<string, Row>();
  for (const { name, document } of origins) {
    for (const row of rowsOf(document, name)) {
      const [header, , where, meaning] = row;
      const key = `${header} ${where} ${meaning}`;
      merged.set(key, merged.has(key) ? [header, 'both', where, meaning] : row);
    }
  }
  return [...merged.values()];
}

const credentialRows = (): string[][] =>
  merge(({ components }, origin) =>
    Object.values(components.securitySchemes).map((scheme): Row => {
      const header = scheme.type === 'http' ? 'authorization' : scheme.in === 'cookie' ? 'cookie' : String(scheme.name);
      const value = scheme.type === 'http' ? 'Bearer …' : scheme.in === 'cookie' ? `${scheme.name}=…` : '…';
      return [`${header}: ${value}`, origin, '', String(scheme.description)];
    }),
  ).map(([header, origin, , meaning]) => [code(header), origin, meaning]);

const requestRows = (): Row[] =>
  merge((document, origin) => {
    const rows = operationsOf(document).flatMap(({ route, operation: { parameters = [] } }) =>
      parameters
        .filter((parameter) => parameter.in === 'header')
        .map(({ name, required, description }) => ({
          route,
          name,
          meaning: `${required ? 'Required. ' : ''}${description}`,
        })),
    );
    const byMeaning = Object.groupBy(rows, ({ name, meaning }) => `${name} ${meaning}`);
    return Object.values(byMeaning).flatMap((same = []) =>
      same.slice(0, 1).map(
        ({ name, meaning }): Row => [
          name,
          origin,
          placeOf(
            same.map(({ route }) => route),
            document,
          ),
          meaning,
        ],
      ),
    );
  });

/** The maximum number of routes that are listed by name. */
const mostNamed = 4;

/** Names the routes, or describes them in a few words. */
function placeOf(routes: readonly string[], document: OpenApiDocument): string {
  const inference = operationsOf(document).filter(({ operation }) => operation.security.some(({ ticket }) => ticket));
  if (
    inference.length > 0 &&
    inference.every(({ route }) => routes.includes(route)) &&
    routes.length === inference.length
  )
    return 'inference';
  return routes.length > mostNamed ? 'every route' : routes.map(code).join(', ');
}

const responseRows = (): Row[] =>
  merge((document, origin) =>
    Object.entries(document.components.headers).map(([name, { description }]): Row => {
      const having = operationsOf(document).flatMap(({ route, operation }) =>
        Object.entries(operation.responses)
          .filter(([, answer]) => Object.hasOwn(responseOf(document, answer).headers ?? {}, name))
          .map(([status]) => ({ route, isError: status >= '400' })),
      );
      const routes = [...new Set(having.map(({ route }) => route))];
      const isOfErrors = having.every(({ isError }) => isError);
      return [name, origin, isOfErrors ? 'errors' : placeOf(routes, document), String(description)];
    }),
  );

const operationsOf = ({ paths }: OpenApiDocument) =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, operation })),
  );

const familyRows = (): string[][] =>
  Object.entries<RelayRule>(relayRules).map(([family, { variants, responseHeaders }]) => [
    code(family),
    [...new Set(variants.flatMap(({ requestHeaders }) => Object.keys(requestHeaders)))].map(code).join(', '),
    responseHeaders.map(code).join(', ') || '–',
  ]);
