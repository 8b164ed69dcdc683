import { join } from 'node:path';
import { importLiteLlm, publicRegistry } from '@sotto/router';
import { parseJson } from '@sotto/wire';
import { builtInRegistryText, checkCatalogText, parseRegistryText } from '../catalog/built-in-files.ts';
import { counted } from '../counted.ts';
import { CliError, type CliProcess, readIfPresent, readText, replaceFile, today, UsageError } from './cli-process.ts';
import { type ImportValues, privacyClassOf } from './read-source.ts';

/**
 * Writes `providers.yaml`, `catalog.yaml` and `sotto.yaml` from a `config.yaml` of LiteLLM's proxy, and names each setting that it could
 * not translate. Prices come from the configuration, else from LiteLLM's price map. It replaces existing files only with `--force`.
 */
export async function litellmImport(
  context: CliProcess,
  file: string | undefined,
  values: ImportValues,
): Promise<void> {
  const { out, prices: priceFile, force } = values;
  if (file === undefined || typeof out !== 'string') {
    throw new UsageError('litellm import needs the configuration, and a folder to write to: --out DIR');
  }
  const prices = typeof priceFile === 'string' ? parseJson(await readText(priceFile)) : {};
  if (prices === undefined) throw new CliError(`${String(priceFile)} is not JSON`);
  const imported = importLiteLlm(await readText(file), {
    builtInRegistry: builtInRegistryText(),
    ...{ prices, privacyClass: privacyClassOf(values, 'anonymous'), asOf: today() },
  });
  if (!imported.ok) {
    throw new CliError(imported.problems.map(({ line, message }) => `${file}:${line}: ${message}`).join('\n'));
  }
  const { registry, catalog, models, renamed, variables, notes } = imported.value;
  for (const { line, message } of notes) context.error(`${file}:${line}: not translated: ${message}`);
  if (models === 0) throw new CliError('no model of the configuration can be imported; nothing was written');
  requireSound(registry, catalog);

  const files = {
    'providers.yaml': registry,
    'catalog.yaml': catalog,
    'sotto.yaml': 'providers_file: providers.yaml\nmodels_file: catalog.yaml\n',
  };
  for (const name of Object.keys(files)) {
    if (force !== true && (await readIfPresent(join(out, name))) !== undefined)
      throw new CliError(`${join(out, name)} exists; replace it with --force`);
  }
  for (const [name, text] of Object.entries(files)) {
    await replaceFile(join(out, name), text);
    context.out(join(out, name));
  }
  for (const [from, to] of renamed) context.out(`the model \`${from}\` is \`${to}\` now`);
  context.out(`${counted(models, 'model')}, ${counted(notes.length, 'setting')} not translated`);
  if (variables.length > 0) context.out(`the broker needs ${variables.join(', ')}`);
}

/** What was made passes the check of both planes, or nothing is written. */
function requireSound(registry: string, catalog: string): void {
  const parsed = parseRegistryText(registry);
  const known = parsed.ok ? publicRegistry(parsed.value, () => true) : undefined;
  const [problem] = [...(parsed.ok ? [] : parsed.problems), ...checkCatalogText(catalog, known, today()).problems];
  if (problem !== undefined)
    throw new CliError(`the result would not be accepted: ${problem.message}; nothing was written`);
}
