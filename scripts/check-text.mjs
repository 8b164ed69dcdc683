// Finds broken links and paths in all tracked files, and citations of documents that readers do not have. `npm run check`
// runs it. `--citations` lists the citations.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The number of remaining citations. Lower it when you remove some. It must never rise. */
const mostCitations = 0;

/** A citation: the name of such a document and a section number. */
const citation = /\b(?:interface|design|failures|journeys?)(?:,? (?:parts?|sections?|chapters?))? \d+(?:\.\d+)*\b/gi;

/** A path from the root of a page or folder under docs/. It does not match inside longer paths and URLs. */
const docsPath = /(?<![\w./@-])docs\/(?:[\w-]+\/)*[\w-]*(?:\.(?:md|svg|png))?(?:#[\w-]+)?/g;

/** Files copied from other projects, which have their own links. */
const foreign = /^packages\/client\/vectors\//;

/** Pages of other projects that comments cite. */
const foreignPaths = new Set(['docs/e2ee_protocol.md']);

const binary = /\.(?:png|jpe?g|gif|ico|woff2?|der|bin|gz|tgz|pdf|mp3)$/;

const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
})
  .split('\0')
  .filter((path) => path !== '' && !binary.test(path) && !foreign.test(path) && existsSync(join(root, path)))
  .filter((path) => statSync(join(root, path)).isFile());

const texts = new Map(tracked.map((path) => [path, readFileSync(join(root, path), 'utf8')]));

const problems = [];
const citations = [];
let checked = 0;

for (const [path, text] of texts) {
  if (path.endsWith('.md')) checkLinks(path, text);
  checkDocsPaths(path, text);
  for (const match of text.matchAll(citation)) citations.push(`${at(path, text, match.index)}: ${match[0]}`);
}

if (process.argv.includes('--citations')) {
  console.log(citations.join('\n'));
} else {
  for (const problem of problems) console.log(problem);
  if (citations.length > mostCitations) {
    console.log(
      `${citations.length} citations of documents that readers do not have; the limit is ${mostCitations}. Give the reason instead. List them with: node scripts/check-text.mjs --citations`,
    );
  }
  if (citations.length < mostCitations) {
    console.log(`${citations.length} citations are left. Lower mostCitations in scripts/check-text.mjs to this number`);
  }
  // A pattern that matches nothing would look like success.
  if (checked < 100) console.log(`found only ${checked} links and paths; the patterns of this script no longer match`);
  process.exitCode = problems.length > 0 || citations.length > mostCitations || checked < 100 ? 1 : 0;
}

/** Checks the links and images of a Markdown file, except in code. */
function checkLinks(path, text) {
  const prose = withoutCode(text);
  const inline = /!?\[[^\]]*(?:\[[^\]]*\][^\]]*)*\]\(\s*<?([^\s)>]+)>?(?:\s+"[^"]*")?\s*\)/g;
  const others = /^\s*\[[^\]]+\]:\s*(\S+)|\b(?:href|src)="([^"]+)"/gm;
  for (const match of [...prose.matchAll(inline), ...prose.matchAll(others)]) {
    const target = match[1] ?? match[2] ?? '';
    if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(target)) continue;
    const [file = '', anchor] = decodeURI(target).split('#');
    const linked = file === '' ? path : posix.normalize(posix.join(dirname(path), file));
    check(at(path, text, match.index), `the link ${target}`, linked, anchor);
  }
}

/** Checks the paths of pages in code, messages and tests. */
function checkDocsPaths(path, text) {
  for (const match of text.matchAll(docsPath)) {
    const [named = '', anchor] = match[0].split('#');
    if (foreignPaths.has(named)) continue;
    check(at(path, text, match.index), `the path ${match[0]}`, named, anchor);
  }
}

function check(place, what, path, anchor) {
  checked += 1;
  if (!existsSync(join(root, path))) {
    problems.push(`${place}: ${what} does not exist`);
  } else if (anchor !== undefined && path.endsWith('.md') && !anchorsOf(path).has(anchor)) {
    problems.push(`${place}: ${what} does not match a heading of ${path}`);
  }
}

/** Returns the anchors that GitHub derives from a page's headings. */
function anchorsOf(path) {
  const prose = withoutCode(texts.get(path) ?? '', { inline: false });
  const anchors = new Set();
  for (const [, heading = ''] of prose.matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const shown = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1');
    const slug = shown
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  for (const [, id = ''] of prose.matchAll(/<a\s+(?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

/** Replaces code with spaces, so that positions stay the same. */
function withoutCode(text, { inline } = { inline: true }) {
  const blank = (code) => code.replace(/[^\n]/g, ' ');
  const prose = text.replace(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^ *\2[^\n]*$/gm, blank);
  return inline ? prose.replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, blank) : prose;
}

function at(path, text, index) {
  return `${path}:${text.slice(0, index).split('\n').length}`;
}
