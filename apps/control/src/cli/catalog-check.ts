import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { checkCatalog, parseRegistry, publicRegistry, type RegistryPublic } from '@sotto/router';
import { CliError, type CliProcess, UsageError } from './cli-process.ts';
import { today } from './today.ts';

/**
 * Checks a catalog file as control does when it starts, and for what looks like a mistake besides. Without a registry,
 * what its providers may claim is not judged. Warnings leave the exit code at 0.
 */
export async function catalogCheck(
  context: CliProcess,
  file: string | undefined,
  registryFile: string | boolean | undefined,
): Promise<number> {
  if (file === undefined) throw new UsageError('catalog check takes a catalog file');
  let registry: RegistryPublic | undefined;
  if (typeof registryFile === 'string') {
    const registryText = await readText(registryFile);
    const parsed = parseRegistry(registryText, createHash('sha256').update(registryText).digest('hex'));
    if (!parsed.ok) {
      for (const { line, message } of parsed.problems) context.error(`${registryFile}:${line}: ${message}`);
      return 1;
    }
    registry = publicRegistry(parsed.value, () => true);
  }
  const { file: catalog, problems, warnings } = checkCatalog(await readText(file), registry, today());
  for (const { line, message } of problems) context.error(`${file}:${line}: ${message}`);
  for (const { line, message } of warnings) context.error(`${file}:${line}: warning: ${message}`);
  if (catalog === undefined || problems.length > 0) return 1;
  const routes = catalog.models.reduce((sum, model) => sum + model.routes.length, 0);
  const verdict = warnings.length === 0 ? 'nothing wrong' : `nothing wrong, ${warnings.length} to look at`;
  context.out(`${file}: ${catalog.models.length} models, ${routes} routes, ${verdict}`);
  if (registry === undefined) {
    context.out('providers and privacy classes were not compared: name a registry with --registry FILE');
  }
  return 0;
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => {
    throw new CliError(`${file} cannot be read`);
  });
}
