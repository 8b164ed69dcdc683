import { keysOf, type RegistryPublic } from '@sotto/router';
import { readFileOrPart } from '@sotto/server';
import { checkCatalogText, parseRegistryText } from '../catalog/built-in-files.ts';
import { counted } from '../counted.ts';
import { type Finding, ok, warning, wrong } from './check.ts';

/** Checks the catalog file against the registry that the brokers published, as control would now. */
export async function examineCatalogFile(
  path: string,
  registry: RegistryPublic | undefined,
  today: string,
): Promise<Finding> {
  const subject = 'catalog file';
  const bytes = await readFileOrPart(path).catch(() => undefined);
  if (bytes === undefined) return wrong(subject, `cannot read ${path}`, 'Set CATALOG_FILE to a readable file.');
  const { file, problems, warnings, free } = checkCatalogText(bytes.toString('utf8'), registry, today);
  const [problem] = problems;
  if (file === undefined || problem !== undefined) {
    const { line, message } = problem ?? { line: 1, message: 'cannot be parsed' };
    return wrong(
      subject,
      `${path}:${line}: ${message}`,
      `\`sotto-control catalog check ${path}\` lists every problem. The active catalog stays in use.`,
    );
  }
  const freeOnes = free.length > 0 ? `; free, because their prices are 0: ${free.join(', ')}` : '';
  return warnings.length > 0
    ? warning(
        subject,
        counted(warnings.length, 'likely mistake'),
        `\`sotto-control catalog check ${path}\` lists them.`,
      )
    : ok(subject, `${path}: ${counted(file.models.length, 'model')}${freeOnes}`);
}

const subject = 'provider keys';

/**
 * Names the providers that the brokers cannot call, because they have no key. `registryFile` gives the names of the variables, which
 * brokers do not publish.
 */
export async function examineProviderKeys(
  registry: RegistryPublic | undefined,
  registryFile: string | undefined,
): Promise<Finding[]> {
  if (registry === undefined) return [];
  const keyless = registry.providers.filter(({ available }) => !available);
  const count = registry.providers.length - keyless.length;
  const found = `${count} of ${registry.providers.length} providers can be called`;
  if (keyless.length === 0) return [ok(subject, found)];
  const variables = await variablesIn(registryFile);
  const lines = keyless.map(({ id }) => {
    const variable = variables.get(id);
    return variable === undefined ? `\`${id}\` has no key` : `\`${id}\` has no key: set ${variable}`;
  });
  const hint =
    variables.size === 0
      ? '; set the variables that `api_key_env` or `api_keys` names in the registry, in the broker’s environment'
      : '';
  const said = `${found}; ${lines.join(', ')}`;
  return [count === 0 ? wrong(subject, said, `Give the broker a key${hint}.`) : ok(subject, `${said}${hint}`)];
}

async function variablesIn(file: string | undefined): Promise<ReadonlyMap<string, string>> {
  const text = file === undefined ? undefined : await readFileOrPart(file).catch(() => undefined);
  const read = text === undefined ? undefined : parseRegistryText(text.toString('utf8'));
  if (read?.ok !== true) return new Map();
  return new Map(
    read.value.providers.flatMap((provider): [string, string][] => {
      const names = keysOf(provider).map(({ env }) => env);
      return names.length === 0 ? [] : [[provider.id, names.join(' or ')]];
    }),
  );
}
