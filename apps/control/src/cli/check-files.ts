import { nusdToUsd } from '@sotto/money';
import { publicRegistry, type RegistryPublic } from '@sotto/router';
import { parseBilling } from '../billing/billing-plan.ts';
import { checkCatalogText, parseRegistryText } from '../catalog/built-in-files.ts';
import { counted } from '../counted.ts';
import { type CliProcess, type Option, readText, today, UsageError } from './cli-process.ts';

/**
 * Checks a catalog file in the same way as control does at its start, and warns about likely mistakes. Without a
 * registry, it cannot check what the providers may claim. Warnings leave the exit code at 0.
 */
export async function catalogCheck(
  context: CliProcess,
  file: string | undefined,
  registryFile: Option,
): Promise<number> {
  if (file === undefined) throw new UsageError('catalog check needs a catalog file');
  let registry: RegistryPublic | undefined;
  if (typeof registryFile === 'string') {
    const parsed = parseRegistryText(await readText(registryFile));
    if (!parsed.ok) {
      for (const { line, message } of parsed.problems) context.error(`${registryFile}:${line}: ${message}`);
      return 1;
    }
    registry = publicRegistry(parsed.value, () => true);
  }
  const { file: catalog, problems, warnings, free } = checkCatalogText(await readText(file), registry, today());
  for (const { line, message } of problems) context.error(`${file}:${line}: ${message}`);
  for (const { line, message } of warnings) context.error(`${file}:${line}: warning: ${message}`);
  if (catalog === undefined || problems.length > 0) return 1;
  const routes = catalog.models.reduce((sum, model) => sum + model.routes.length, 0);
  const verdict = warnings.length === 0 ? 'no problems' : `no problems, ${counted(warnings.length, 'warning')}`;
  context.out(`${file}: ${counted(catalog.models.length, 'model')}, ${counted(routes, 'route')}, ${verdict}`);
  if (free.length > 0) context.out(`free, because their prices are 0: ${free.join(', ')}`);
  if (registry === undefined) {
    context.out('providers and privacy classes were not checked; pass a registry with --registry FILE');
  }
  return 0;
}

/** Checks a billing file in the same way as control does at its start. */
export async function billingCheck(context: CliProcess, file: string | undefined): Promise<number> {
  if (file === undefined) throw new UsageError('billing check needs a billing file');
  const parsed = parseBilling(await readText(file));
  if (!parsed.ok) {
    for (const { line, message } of parsed.problems) context.error(`${file}:${line}: ${message}`);
    return 1;
  }
  for (const { id, amountNusd, feeNusd } of parsed.value.packages.values()) {
    context.out(`${id}: ${nusdToUsd(amountNusd)} USD, plus a fee of ${nusdToUsd(feeNusd)} USD`);
  }
  context.out(`${file}: no problems`);
  return 0;
}
