/** The style of the reference: system fonts, both color schemes, from 320 px up. */
export const referenceStyle = `
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
  /* There is room: the contents are open. Where a browser does not know this selector they open as elsewhere. */
  nav details::details-content { content-visibility: visible; block-size: auto; }
  main { padding: 1.5rem 2.5rem 4rem; }
}
@media print { nav { display: none; } pre { white-space: pre-wrap; } }
`;
