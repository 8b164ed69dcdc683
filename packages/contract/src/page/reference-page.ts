import type { OpenApiDocument, Operation } from '../document/build-document.ts';
import { escaped, inline, prose } from './html.ts';
import { operationView } from './operation-view.ts';
import { fieldsOf, typeOf } from './schema-view.ts';

export { referenceStyle };

/** One origin as the page shows it. */
export interface ShownOrigin {
  readonly document: OpenApiDocument;
  /** Public address, without `/v1`. */
  readonly address: string;
}

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/**
 * Renders the descriptions of origins as one page. It has no script and loads nothing. The server allows its one style by hash
 * (`referenceStyle`).
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

/** The style of the reference: system fonts, both color schemes, from 320 px up. */
const referenceStyle = `
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --soft: #57606a; --line: #d0d7de; --fill: #f6f8fa; --link: #0b57c4; --get: #0a6640; --post: #0b57c4; --put: #8a4b00; --delete: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --back: #101418; --text: #e4e8ec; --soft: #a2adb8; --line: #343c46; --fill: #191f26; --link: #7db4ff; --get: #5fd39a; --post: #7db4ff; --put: #f0b060; --delete: #ff8f86; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible, pre:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; } .skip:focus { left: 1rem; top: 1rem; background: var(--back); padding: .5rem; }
header, main, nav { padding: 1rem; }
header { border-bottom: 1px solid var(--line); }
header p { max-width: 46rem; margin: .3rem 0; color: var(--soft); }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.4rem; margin: 0 0 .3rem; } h3 { font-size: 1.15rem; margin: 2.5rem 0 .2rem; } h4 { font-size: 1.05rem; margin: 0; }
h4 a { color: inherit; text-decoration: none; } h4 a:hover { text-decoration: underline; }
nav { border-bottom: 1px solid var(--line); font-size: .9rem; }
nav summary { font-weight: 600; cursor: pointer; padding: .2rem 0; }
nav ul { list-style: none; margin: 0 0 .6rem; padding: 0 0 0 .8rem; } nav li a { display: block; padding: .2rem 0; text-decoration: none; } nav li a:hover { text-decoration: underline; }
nav .group { color: var(--soft); margin: .5rem 0 0; }
code, pre { font-family: ui-monospace, monospace; font-size: .875em; }
code { background: var(--fill); border-radius: .25rem; padding: .05em .25em; }
pre { background: var(--fill); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; overflow-x: auto; overflow-wrap: normal; line-height: 1.45; }
.operation, .schema { border-top: 1px solid var(--line); padding: 1.4rem 0; margin-top: 1rem; }
.operation p { margin: .5rem 0; }
.address code { background: none; padding: 0; }
.method { display: inline-block; font: 700 .75rem ui-monospace, monospace; border: 1px solid currentcolor; border-radius: .25rem; padding: .1rem .4rem; }
.method.get { color: var(--get); } .method.post { color: var(--post); } .method.put, .method.patch { color: var(--put); } .method.delete { color: var(--delete); }
.fields, .variants { list-style: none; margin: .4rem 0; padding: 0; border-left: 2px solid var(--line); }
.fields > li, .variants > li { padding: .25rem 0 .25rem .8rem; }
.name { font-weight: 600; background: none; padding: 0; }
.type { color: var(--soft); font-size: .875rem; }
.required { color: var(--delete); font-size: .8rem; }
.note { font-size: .925rem; } .note p, dd p { margin: .2rem 0; }
details > summary { cursor: pointer; padding: .3rem 0; }
.answers { margin: .5rem 0 0; } .answers dt { font-weight: 700; } .answers dd { margin: 0 0 .8rem; padding-left: .8rem; border-left: 2px solid var(--line); }
.headers { font-size: .875rem; color: var(--soft); } .headers code { display: inline-block; }
main { max-width: 56rem; } .origin + .origin { margin-top: 4rem; }
@media (min-width: 64rem) {
  .page { display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; border-bottom: 0; border-right: 1px solid var(--line); }
  /* With enough room, the contents are open. Browsers without this selector show them closed. */
  nav details::details-content { content-visibility: visible; block-size: auto; }
  main { padding: 1.5rem 2.5rem 4rem; }
}
@media print { nav { display: none; } pre { white-space: pre-wrap; } }
`;
