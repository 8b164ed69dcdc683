import { readFile } from 'node:fs/promises';
import { checkCatalog, type RegistryPublic } from '@sotto/router';
import { type Finding, ok, warning, wrong } from './check.ts';

/** Whether the catalog file could be put in force now, against the registry that the brokers have published. */
export async function examineCatalogFile(
  path: string,
  registry: RegistryPublic | undefined,
  today: string,
): Promise<Finding> {
  const subject = 'catalog file';
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return wrong(subject, `${path} cannot be read`, 'Let CATALOG_FILE name a readable file.');
  const { file, problems, warnings } = checkCatalog(text, registry, today);
  const [problem] = problems;
  if (file === undefined || problem !== undefined) {
    const { line, message } = problem ?? { line: 1, message: 'it cannot be read' };
    return wrong(
      subject,
      `${path}:${line}: ${message}`,
      '`sotto-control catalog check` lists all that is wrong; the catalog in force stays.',
    );
  }
  return warnings.length > 0
    ? warning(subject, `${warnings.length} things look like mistakes`, '`sotto-control catalog check` lists them.')
    : ok(subject, `${path}: ${file.models.length} models`);
}
