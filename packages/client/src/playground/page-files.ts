import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';

/** A file of the page. */
export interface PageFile {
  readonly bytes: Buffer;
  readonly type: string;
}

/** The built page, in memory. The served bytes are those of the digest, even if the folder changes meanwhile. */
export interface PageFiles {
  /** By name, such as `assets/playground-Ab_1.js`. */
  readonly files: ReadonlyMap<string, PageFile>;
  /**
   * SHA-256 (hex) of the list of files. The list is that of
   * `find . -type f | LC_ALL=C sort | xargs sha256sum`, so that users can compute it without this code.
   */
  readonly sha256: string;
}

/** The file that is served at `/`. */
export const startFile = 'index.html';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Reads a built page. Returns undefined if the folder holds none. Names that begin with a dot are not part of it. */
export function readPage(folder: string): PageFiles | undefined {
  let names: string[];
  try {
    names = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
      .map(({ parentPath, name }) => join(parentPath, name).slice(join(folder, sep).length).replaceAll(sep, '/'))
      .sort();
  } catch {
    return undefined;
  }
  if (!names.includes(startFile)) return undefined;
  const files = new Map(
    names.map((name) => [
      name,
      { bytes: readFileSync(join(folder, name)), type: types[extname(name)] ?? 'application/octet-stream' },
    ]),
  );
  const list = [...files].map(([name, { bytes }]) => `${sha256(bytes)}  ./${name}\n`).join('');
  return { files, sha256: sha256(list) };
}

const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');
