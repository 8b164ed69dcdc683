import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { accessPage } from './access.ts';
import { configurationPage } from './configuration.ts';
import { encryptionProtocolsPage } from './encryption-protocols.ts';
import { errorsPage } from './errors.ts';
import { headersPage } from './headers.ts';
import { settingsSchemaFile } from './settings-schema.ts';

/** The generated files, by their paths from the root. */
export const pages: Readonly<Record<string, () => string>> = {
  'deploy/sotto.schema.json': settingsSchemaFile,
  'docs/reference/access.md': accessPage,
  'docs/reference/configuration.md': configurationPage,
  'docs/reference/encryption-protocols.md': encryptionProtocolsPage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/headers.md': headersPage,
};

// `npm run docs` runs this file.
if (import.meta.main) {
  for (const [path, page] of Object.entries(pages)) {
    writeFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), page());
    console.log(path);
  }
}
