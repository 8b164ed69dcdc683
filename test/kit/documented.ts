import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Returns the block after `<!-- test: name -->` in a document (a path from the root), by default a shell block. */
export function documentedBlock(path: string, name: string, language = 'sh'): string {
  const text = readFileSync(join(root, path), 'utf8');
  const block = new RegExp(`<!-- test: ${name} -->\\n\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(text)?.[1];
  if (block === undefined) throw new Error(`${path} has no block ${name}`);
  return block;
}
