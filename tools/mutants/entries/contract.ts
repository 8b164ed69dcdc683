import { readdirSync, readFileSync } from 'node:fs';
import { type Mutant, mutantsOfRows } from '../mutant.ts';

const root = new URL('../../../', import.meta.url);
const folders = ['packages/contract/src/control', 'packages/contract/src/confidential'];
const files = ['packages/contract/src/service.ts'].concat(
  folders.flatMap((folder) => readdirSync(new URL(folder, root)).map((name) => `${folder}/${name}`)),
);

/** The credentials of each contract: each is opened to an operator, or to everybody if only operators could call it. */
export const contractMutants: readonly Mutant[] = files.flatMap((file) =>
  mutantsOfRows(
    // Both origins have some of the same routes.
    {
      folder: file.includes('/confidential/') ? 'credentials/broker' : 'credentials/control',
      file,
      tests: ['tools/reference/pages.test.ts'],
    },
    {
      text: readFileSync(new URL(file, root), 'utf8'),
      pattern: /^ {2}'(\w+ [^']+)': \{\n(?: {4}.*\n)*? {4}credentials: (\[[^\]]*\])/gm,
      change: ([row = '', route = '', credentials = '']) => [
        route,
        row.replace(
          `credentials: ${credentials}`,
          credentials === "['operator']" ? 'credentials: []' : "credentials: ['operator']",
        ),
      ],
    },
  ),
);
