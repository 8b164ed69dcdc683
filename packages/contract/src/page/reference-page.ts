import type { OpenApiDocument, Operation } from '../document/build-document.ts';
import { escaped, inline, prose } from './html.ts';
import { operationView } from './operation-view.ts';
import { fieldsOf, typeOf } from './schema-view.ts';
import { referenceStyle } from './style.ts';

export { referenceStyle };

/** One origin as the page shows it. */
export interface ShownOrigin {
  readonly document: OpenApiDocument;
  /** Its public address, without `/v1`. */
  readonly address: string;
}

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/**
 * The descriptions of origins as one page to read: no script, nothing from elsewhere, one style that its server allows by
 * its hash (`referenceStyle`).
 */
export function referencePage(origins: readonly ShownOrigin[]): string {
  const shown = origins.map((origin, index) => ({ ...origin, prefix: `o${index + 1}` }));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sotto: API reference</title>
<style>${referenceStyle}</style>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header>
<h1>API reference</h1>
<p>Two origins: one knows who asks, the other what is asked. ${shown.map(({ document, address }) => `<a href="${escaped(address)}/v1/openapi.json">${escaped(document.info.title)} as OpenAPI 3.1</a>`).join(' · ')}</p>
</header>
<div class="page">
<nav aria-label="Contents">${shown.map(contentsOf).join('')}</nav>
<main id="content">${shown.map(originView).join('')}</main>
</div>
</body>
</html>
`;
}

type Shown = ShownOrigin & { readonly prefix: string };

const operationsOf = ({ paths }: OpenApiDocument, tag: string): Listed[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => tags.includes(tag))
      .map(([method, operation]) => ({ method, path, operation })),
  );

function contentsOf({ document, prefix }: Shown): string {
  const groups = document.tags.map(
    ({ name }) =>
      `<p class="group">${escaped(name)}</p><ul>${operationsOf(document, name)
        .map(
          ({ operation }) => `<li><a href="#${prefix}-${operation.operationId}">${escaped(operation.summary)}</a></li>`,
        )
        .join('')}</ul>`,
  );
  return `<details><summary>${escaped(document.info.title)}</summary>${groups.join('')}<p class="group"><a href="#${prefix}-schemas">Schemas</a></p></details>`;
}

function originView({ document, address, prefix }: Shown): string {
  const { info, tags, components } = document;
  const groups = tags.map(
    ({ name, description }) =>
      `<h3>${escaped(name)}</h3><p>${inline(description)}</p>${operationsOf(document, name)
        .map(({ method, path, operation }) => operationView(operation, { prefix, origin: address, method, path }))
        .join('')}`,
  );
  const schemas = Object.entries(components.schemas).map(([name, schema]) => {
    const note = typeof schema.description === 'string' ? prose(schema.description) : '';
    const fields = fieldsOf(schema, prefix);
    return `<section class="schema" id="${prefix}-schema-${name}"><h4>${name}</h4>${note}${fields === '' ? `<p class="type">${typeOf(schema, prefix)}</p>` : fields}</section>`;
  });
  return `<section class="origin"><h2>${escaped(info.title)}</h2><p><code>${escaped(address)}</code></p>${prose(info.description)}${groups.join('')}<h3 id="${prefix}-schemas">Schemas</h3>${schemas.join('')}</section>`;
}
