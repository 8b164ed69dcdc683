import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The shell block of a document (a path from the root) that `<!-- test: name -->` stands before. */
export function documentedBlock(path: string, name: string): string {
  const text = readFileSync(join(root, path), 'utf8');
  const block = new RegExp(`<!-- test: ${name} -->\\n\`\`\`sh\\n(.*?)\`\`\``, 's').exec(text)?.[1];
  if (block === undefined) throw new Error(`${path} has no block ${name}`);
  return block;
}
