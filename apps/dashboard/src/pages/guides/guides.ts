import { forReaders } from '@sotto/contract/for-readers';
import { lexer } from 'marked';

/** A page of the documentation. */
export interface Guide {
  /** Its path in the documentation without `.md`, and so in the address of the page: `use/billing`. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

/** Titles that say for whom a page is, where its own is read beside the others of a checkout. */
const titles: Readonly<Record<string, string>> = { 'start/quickstart.md': 'Quickstart on your own machine' };

const root = '../../../../../docs/';
const index = 'README';

/** The whole documentation of this version. */
export const guides: readonly Guide[] = Object.entries(
  import.meta.glob<string>('../../../../../docs/**/*.md', { query: '?raw', import: 'default', eager: true }),
).map(([file, text]) => ({
  path: file.slice(root.length, -'.md'.length),
  title: titles[file.slice(root.length)] ?? /^# (.+)$/m.exec(text)?.[1] ?? file,
  text: forReaders(text),
}));

/** The guide of an address. */
export const guideAt = (path: string): Guide | undefined => guides.find((guide) => guide.path === path);

/** The groups in the order in which readers need them, each of folders and single pages. Pages outside a folder are about the whole. */
const groups = [
  { title: 'Tools', folders: ['tools'], isOfUsers: true },
  { title: 'Use', folders: ['use'], isOfUsers: true },
  { title: 'Concepts', folders: ['concepts'], isOfUsers: true },
  { title: 'Reference', folders: ['reference', 'start/troubleshooting'], isOfUsers: true },
  {
    title: 'Run Sotto yourself',
    folders: ['start/quickstart', 'operate', 'reference/configuration', 'reference/provider-fields'],
    isOfUsers: false,
  },
  { title: 'Design', folders: [''], isOfUsers: false },
  { title: 'Decisions', folders: ['decisions'], isOfUsers: false },
  { title: 'Contribute', folders: ['contribute'], isOfUsers: false },
] as const;

const ownGroup: ReadonlySet<string> = new Set(groups.flatMap(({ folders }) => folders));

const folderOf = ({ path }: Guide): string => path.slice(0, Math.max(0, path.indexOf('/')));

export interface GuideGroup {
  readonly title: string;
  /** Whether it is for people who use a deployment, and not for those who run one or change its code. */
  readonly isOfUsers: boolean;
  readonly pages: readonly Guide[];
}

/** Guides under the title of their group. */
export const grouped = (found: readonly Guide[]): readonly GuideGroup[] =>
  groups
    .map(({ title, folders, isOfUsers }) => ({
      title,
      isOfUsers,
      pages: folders.flatMap((folder) =>
        found.filter((guide) =>
          ownGroup.has(guide.path) ? guide.path === folder : guide.path !== index && folderOf(guide) === folder,
        ),
      ),
    }))
    .filter(({ pages }) => pages.length > 0);

/** The sections of a guide, for its table of contents. */
export const sectionsOf = (text: string): readonly { readonly id: string; readonly title: string }[] =>
  lexer(text).flatMap((token) =>
    token.type === 'heading' && token.depth === 2
      ? [{ id: headingId(token.text as string), title: (token.text as string).replaceAll('`', '') }]
      : [],
  );

/** The guides in which all typed words occur: first those with them in their title, then those that have them most often. */
export function findGuides(typed: string): readonly Guide[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const found = guides.filter(({ path, title, text }) => path !== index && has(`${title} ${text}`));
  const times = ({ text }: Guide): number =>
    words.reduce((sum, word) => sum + text.toLowerCase().split(word).length - 1, 0);
  return words.length === 0
    ? found
    : found.toSorted((left, right) => Number(has(right.title)) - Number(has(left.title)) || times(right) - times(left));
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
