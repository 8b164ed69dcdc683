import { publicRegistry } from '@sotto/router';
import {
  describeSettings,
  type Environment,
  type FileSettings,
  isSecretName,
  placeInFile,
  problemOfSetting,
  readBrokerConfig,
  readFileOrPart,
  readSettings,
  settingPaths,
  settingsOf,
  settingsSchemas,
} from '@sotto/server';
import type { FileProblem } from '@sotto/yaml';
import type * as z from 'zod';
import { parseBilling } from '../billing/billing-plan.ts';
import { checkCatalogText, parseRegistryText } from '../catalog/built-in-files.ts';
import { readConfig } from '../config.ts';
import { today } from './cli-process.ts';

/** Reads all settings of a process as it does at start. */
const judges = {
  broker: readBrokerConfig,
  keeper: (environment: Environment) => readSettings(settingsSchemas.keeper, environment),
  control: readConfig,
};
const judged = Object.keys(judges) as (keyof typeof judges)[];

/** The settings that only `npm start` reads, and judges. */
export const unjudged = (settings: FileSettings): string[] => {
  const known = new Set(judged.flatMap((plane) => Object.values(settingPaths[plane])));
  return Object.values(settingPaths.start).filter((path) => settings.has(path) && !known.has(path));
};

/** The problems of each value, and of values that contradict each other, for every process that reads them. */
export function valueProblems(settings: FileSettings, environment: Environment): FileProblem[] {
  const problems = new Map<string, FileProblem>();
  for (const plane of judged) {
    const own = settingsOf(settings, plane);
    let isSound = true;
    for (const [name, { path, line, value, kind }] of own) {
      const problem = kind === 'text' ? problemOfSetting(settingsSchemas[plane], name, value) : undefined;
      if (problem === undefined) continue;
      isSound = false;
      if (!problems.has(path)) problems.set(path, { line, message: `\`${path}\` ${problem}` });
    }
    const together = isSound ? problemTogether(plane, settings, environment) : undefined;
    if (together !== undefined) problems.set(plane, together);
  }
  return [...problems.values()];
}

/**
 * The first contradiction between the settings of a process, if the file has one of them. Something that is merely
 * missing may come from a variable. Stand-ins take the place of secrets, which stay closed.
 */
function problemTogether(
  plane: keyof typeof judges,
  settings: FileSettings,
  environment: Environment,
): FileProblem | undefined {
  const schema: z.ZodObject = settingsSchemas[plane];
  const own = settingsOf(settings, plane);
  if (own.size === 0) return undefined;
  const given: Record<string, string | undefined> = {};
  for (const { name, isRequired } of describeSettings(schema))
    if (isRequired && isSecretName(name)) given[name] = standIn(schema, name);
  for (const [name, { value, kind }] of own) given[name] = kind === 'reference' ? standIn(schema, name) : value;
  // This process has the environment of control.
  if (plane === 'control')
    for (const [name, value] of Object.entries(environment)) {
      const inFile = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : '';
      if (value && isSecretName(inFile)) given[inFile] = standIn(schema, inFile);
      else if (value) given[name] = value;
    }
  const read = judges[plane](given);
  return read.ok ? undefined : placeInFile(read.message, plane, own);
}

/** A value that the schema accepts in place of a secret. The two secrets of a rotation differ. */
function standIn(schema: z.ZodObject, name: string): string | undefined {
  const key = (name.startsWith('OTHER_') ? 'B' : 'A').repeat(43);
  return [key, 'redis://secret', 'postgresql://secret/secret', 'smtp://secret', 'https://secret'].find(
    (value) => problemOfSetting(schema, name, value) === undefined,
  );
}

/** The problems of the inline parts, each with its line in the file. */
export async function partProblems(file: string, settings: FileSettings): Promise<readonly FileProblem[]> {
  const textOf = async (part: string): Promise<string | undefined> =>
    settings.has(part) ? (await readFileOrPart(`${file}#${part}`)).toString('utf8') : undefined;
  const [providers, models, plan] = await Promise.all(['providers', 'models', 'billing.plan'].map(textOf));
  const registry = providers === undefined ? undefined : parseRegistryText(providers);
  const known = registry?.ok ? publicRegistry(registry.value, () => true) : undefined;
  const billing = plan === undefined ? undefined : parseBilling(plan);
  return [
    ...(registry?.ok === false ? registry.problems : []),
    ...(models === undefined ? [] : checkCatalogText(models, known, today()).problems),
    ...(billing?.ok === false ? billing.problems : []),
  ];
}
