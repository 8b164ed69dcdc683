import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type CatalogCheck, checkCatalog, extendsBuiltIn, parseRegistry, type RegistryPublic } from '@sotto/router';

const inApp = (path: string): URL => new URL(path, import.meta.resolve('@sotto/control/package.json'));

/** The catalog that is part of control: well-known models of the providers in the built-in registry. */
export const builtInCatalog = fileURLToPath(inApp('catalog.yaml'));

/** The text of the catalog that a file may extend. */
export const builtInCatalogText = (): string => readFileSync(builtInCatalog, 'utf8');

/** The text of the broker's built-in registry. Control's image has a copy of it; a clone has the broker's own. */
export function builtInRegistryText(): string {
  try {
    return readFileSync(inApp('providers.yaml'), 'utf8');
  } catch {
    return readFileSync(inApp('../confidential/providers.yaml'), 'utf8');
  }
}

/** Checks a catalog file, which may extend the built-in one. `today` is a date such as 2026-01-31. */
export const checkCatalogText = (text: string, registry: RegistryPublic | undefined, today: string): CatalogCheck =>
  checkCatalog(text, registry, today, extendsBuiltIn(text) ? builtInCatalogText() : undefined);

/** Parses a registry file, which may extend the built-in one. */
export const parseRegistryText = (text: string): ReturnType<typeof parseRegistry> =>
  parseRegistry(text, '', { builtIn: extendsBuiltIn(text) ? builtInRegistryText() : undefined });
