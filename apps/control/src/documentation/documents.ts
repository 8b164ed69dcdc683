import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { forReaders } from '@sotto/contract/for-readers';

export interface Document {
  /** Its path in `docs` without `.md`: `use/billing`. */
  readonly path: string;
  readonly title: string;
  /** Its first sentence, as plain text. */
  readonly summary: string;
  readonly text: string;
}

/** Pages that belong together, in reading order. */
export interface Section {
  readonly title: string;
  readonly pages: readonly Document[];
}

export interface Documents {
  readonly pages: readonly Document[];
  /** The sections of the index page, each page in the first one that links it, and one section with all other pages. */
  readonly sections: readonly Section[];
  at(path: string): Document | undefined;
  /** Returns the pages that contain all words, those with them in the title first, each with a line that has one of the words. */
  search(words: string): readonly { readonly page: Document; readonly line: string }[];
}

const index = 'README';
/** For readers who look for their place: it repeats pages of the other sections. */
const entrance = 'Where to begin';

/** Reads the documentation of this version: from `docs` of the clone or the image. Without it there are no pages. */
export function readDocuments(
  folder = fileURLToPath(new URL('../../docs/', import.meta.resolve('@sotto/control/package.json'))),
): Documents {
  return documentsOf(
    filesIn(folder).map((file) => [file.replaceAll('\\', '/'), readFileSync(`${folder}/${file}`, 'utf8')] as const),
  );
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  } catch {
    return [];
  }
}

/** Arranges pages, given as their paths and texts. Pure. */
export function documentsOf(files: readonly (readonly [file: string, text: string])[]): Documents {
  const pages = files.map(([file, text]) => readPage(file.replace(/\.md$/, ''), forReaders(text))).sort(byPath);
  const byPaths = new Map(pages.map((page) => [page.path, page]));
  const others = pages.filter(({ path }) => path !== index);
  return {
    pages: others,
    sections: sectionsOf(byPaths.get(index)?.text ?? '', byPaths, others),
    at: (path) => byPaths.get(path),
    search: (words) => search(others, words),
  };
}

const byPath = (one: Document, other: Document): number => (one.path < other.path ? -1 : 1);

function readPage(path: string, text: string): Document {
  const [paragraph = ''] = text.split(/\n{2,}/).filter((block) => /^[\p{L}`*[(]/u.test(block));
  const plain = plainText(paragraph);
  return {
    path,
    text,
    title: /^# (.+)$/m.exec(text)?.[1] ?? path,
    summary: /^.+?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain,
  };
}

const plainText = (markdown: string): string =>
  markdown
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*`]/g, '')
    .replace(/\s+/g, ' ')
    .trim();

/** Reads the index page: bold words begin a section, and links name its pages. */
function sectionsOf(
  text: string,
  byPaths: ReadonlyMap<string, Document>,
  all: readonly Document[],
): readonly Section[] {
  const placed = new Set<Document>();
  const [, ...parts] = text.split(/^\*\*(?=[^*]+\*\*)/m);
  const sections = parts.flatMap((part) => {
    const [title = '', rest = ''] = part.split('**', 2);
    if (title === entrance) return [];
    const pages = [...rest.matchAll(/\]\(([^)#]+)\.md\)/g)].flatMap(([, path = '']) => {
      const page = byPaths.get(path);
      if (page === undefined || placed.has(page)) return [];
      placed.add(page);
      return [page];
    });
    return pages.length === 0 ? [] : [{ title, pages }];
  });
  const left = all.filter((page) => !placed.has(page));
  return left.length === 0 ? sections : [...sections, { title: 'Optional', pages: left }];
}

function search(pages: readonly Document[], typed: string): ReturnType<Documents['search']> {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const hits = (text: string): number => words.filter((word) => text.toLowerCase().includes(word)).length;
  return pages
    .filter(({ title, text }) => hits(`${title} ${text}`) === words.length)
    .map((page) => ({
      page,
      line: lineWith(page.text, hits),
      rank: hits(page.title) * 100 + hits(page.summary) * 10 + timesIn(page.text, words),
    }))
    .sort((one, other) => other.rank - one.rank)
    .map(({ page, line }) => ({ page, line }));
}

/** How often the words occur, each at most nine times, so that a long page does not win by one of them. */
const timesIn = (text: string, words: readonly string[]): number =>
  words.reduce((sum, word) => sum + Math.min(9, text.toLowerCase().split(word).length - 1), 0);

/** The line that has the most of the words. */
function lineWith(text: string, hits: (text: string) => number): string {
  const [best = ''] = text.split('\n').toSorted((one, other) => hits(other) - hits(one));
  return plainText(best).slice(0, 300);
}
