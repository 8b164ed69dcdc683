/** A page of the documentation. */
export interface Guide {
  /** Its path in the documentation without `.md`, and so in the address of the page: `use/billing`. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

const root = '../../../../../docs/';
const index = 'README';

/** The whole documentation of this version. */
export const guides: readonly Guide[] = Object.entries(
  import.meta.glob<string>('../../../../../docs/**/*.md', { query: '?raw', import: 'default', eager: true }),
).map(([file, text]) => ({
  path: file.slice(root.length, -'.md'.length),
  title: /^# (.+)$/m.exec(text)?.[1] ?? file,
  text,
}));

/** The guide of an address; the index for an empty one. */
export const guideAt = (path: string): Guide | undefined =>
  guides.find((guide) => guide.path === (path === '' ? index : path));

/** The folders in the order in which readers need them. Pages outside a folder are about the whole. */
const groups: readonly (readonly [folder: string, title: string])[] = [
  ['start', 'Start'],
  ['use', 'Use'],
  ['tools', 'Tools'],
  ['concepts', 'Concepts'],
  ['operate', 'Operate'],
  ['reference', 'Reference'],
  ['', 'Design'],
  ['decisions', 'Decisions'],
  ['contribute', 'Contribute'],
];

const folderOf = ({ path }: Guide): string => path.slice(0, Math.max(0, path.indexOf('/')));

/** Guides under the title of their folder. */
export const grouped = (
  found: readonly Guide[],
): readonly { readonly title: string; readonly pages: readonly Guide[] }[] =>
  groups
    .map(([folder, title]) => ({
      title,
      pages: found.filter((guide) => folderOf(guide) === folder && guide.path !== index),
    }))
    .filter(({ pages }) => pages.length > 0);

/** The guides in which all typed words occur; those with them in their title come first. */
export function findGuides(typed: string): readonly Guide[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const found = guides.filter(({ title, text }) => has(`${title} ${text}`));
  return [...found.filter(({ title }) => has(title)), ...found.filter(({ title }) => !has(title))];
}

/** Where a link of a guide leads: to another guide, or undefined for a file that only the repository has. */
export function guideLink(from: string, href: string): { readonly path: string; readonly hash: string } | undefined {
  const { pathname, hash } = new URL(href, `http://docs/docs/${from}.md`);
  const path = /^\/docs\/(.+)\.md$/.exec(decodeURIComponent(pathname))?.[1];
  if (path === undefined || guideAt(path) === undefined) return undefined;
  return { path: path === index ? '' : path, hash: hash.slice(1) };
}

/** The id of a heading, as links to it name it. */
export const headingId = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
