import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type FileProblem, parseCatalog, parseRegistry, publicRegistry } from '@sotto/router';
import { CliError, type CliProcess } from './cli-process.ts';

/** Checks a catalog file against a registry file, as control and broker do when they start. */
export async function catalogCheck(
  context: CliProcess,
  file: string | undefined,
  registryFile: string | boolean | undefined,
): Promise<number> {
  if (file === undefined || typeof registryFile !== 'string') {
    throw new CliError('usage: sotto-control catalog check FILE --registry FILE');
  }
  const registryText = await readText(registryFile);
  const registry = parseRegistry(registryText, createHash('sha256').update(registryText).digest('hex'));
  if (!registry.ok) return report(context, registryFile, registry.problems);
  const text = await readText(file);
  const identity = { version: 1, digest: createHash('sha256').update(text).digest('hex') };
  const catalog = parseCatalog(
    text,
    publicRegistry(registry.value, () => true),
    identity,
  );
  if (!catalog.ok) return report(context, file, catalog.problems);
  const { models } = catalog.value.catalog;
  const routes = [...models.values()].reduce((sum, model) => sum + model.routes.length, 0);
  context.out(`${file}: ${models.size} models, ${routes} routes, nothing wrong`);
  return 0;
}

function report(context: CliProcess, file: string, problems: readonly FileProblem[]): number {
  for (const { line, message } of problems) context.error(`${file}:${line}: ${message}`);
  return 1;
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => {
    throw new CliError(`${file} cannot be read`);
  });
}
