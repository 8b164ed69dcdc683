import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { pages } from './pages.ts';

for (const [path, page] of Object.entries(pages)) {
  writeFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), page());
  console.log(path);
}
