import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { FileProblem } from '@sotto/yaml';
import * as z from 'zod';
import { type Environment, isSecretName, readSettings, type Settings, withSecretFiles } from './read-settings.ts';
import type { Plane } from './setting-paths.ts';
import {
  type FileSetting,
  misspelled,
  partName,
  placeInFile,
  readSettingsFile,
  settingsOf,
  unreadByStart,
} from './settings-file.ts';
import { settingsSchemas } from './table.ts';

export interface SettingsSource {
  readonly plane: Plane;
  /** The schema of every setting that the process reads. Omitted: those of the plane. */
  readonly schema?: z.ZodObject;
  readonly environment: Environment;
  /** Reads a file other than from the disk. Throws if the file does not exist or cannot be read. */
  readonly readFile?: (path: string) => string;
}

export type LoadedSettings =
  | {
      readonly ok: true;
      /** The environment, with the settings that it took from `sotto.yaml` and from files of secrets. */
      readonly settings: Environment;
      /** Returns a message about variables in the words of `sotto.yaml`, if a value of the file is at fault. */
      readonly explain: (message: string) => string;
      /** Variables that look like misspelled settings, and settings that `npm start` does not read, a sentence each. */
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly message: string };

/**
 * Loads the settings of a process: `sotto.yaml`, if CONFIG_FILE names one, under the environment, which overrides it.
 * Reads only the secrets of this process.
 */
export function loadSettings({
  plane,
  schema = settingsSchemas[plane],
  environment,
  readFile = (path) => readFileSync(path, 'utf8'),
}: SettingsSource): LoadedSettings {
  const file = environment.CONFIG_FILE;
  const own = file ? fromFile(file, { plane, schema, environment, readFile }) : undefined;
  if (own?.ok === false) return own;
  const settings = own?.settings;
  const given = withSecretFiles({ ...environment, ...settings?.variables }, readFile);
  if (!given.ok) return given;
  const explain = (message: string): string => {
    const place = placeInFile(message, plane, settings?.found ?? new Map());
    return place === undefined ? message : `${file}:${place.line}: ${place.message}`;
  };
  const unread = (settings?.unread ?? []).map((path) => `\`${path}\` is set, but \`npm start\` does not read it`);
  return { ...given, explain, warnings: [...misspelled(environment), ...unread] };
}

interface OwnSettings {
  readonly variables: Environment;
  readonly found: ReadonlyMap<string, FileSetting>;
  readonly unread: readonly string[];
}

function fromFile(
  file: string,
  { plane, schema, environment, readFile }: Required<SettingsSource>,
): Settings<OwnSettings> {
  let text: string;
  try {
    text = readFile(file);
  } catch {
    return { ok: false, message: `CONFIG_FILE is \`${file}\`: it takes the path of a readable file` };
  }
  const read = readSettingsFile(text);
  if (!read.ok) return { ok: false, message: listed(file, read.problems) };
  const found = new Map(
    [...settingsOf(read.value, plane)].filter(
      ([name]) =>
        Object.hasOwn(schema.shape, name) && !environment[name] && !(isSecretName(name) && environment[`${name}_FILE`]),
    ),
  );
  const variables: Record<string, string> = {};
  const problems: FileProblem[] = [];
  for (const [name, setting] of found) {
    const { path, line } = setting;
    const { value, problem } = resolved(name, setting, { file, environment, readFile });
    const wrong = problem ?? problemOfSetting(schema, name, value);
    if (wrong === undefined) variables[name] = value;
    else problems.push({ line, message: `\`${path}\` ${wrong}` });
  }
  if (problems.length > 0)
    return {
      ok: false,
      message: listed(
        file,
        problems.toSorted((a, b) => a.line - b.line),
      ),
    };
  return { ok: true, settings: { variables, found, unread: plane === 'start' ? unreadByStart(read.value) : [] } };
}

const listed = (file: string, problems: readonly FileProblem[]): string =>
  [`${file} has problems:`, ...problems.map(({ line, message }) => `  ${file}:${line}: ${message}`)].join('\n');

/** The value of a variable: reads references, and takes paths from the folder of the file. */
function resolved(
  name: string,
  { value, kind }: FileSetting,
  {
    file,
    environment,
    readFile,
  }: { readonly file: string } & Pick<Required<SettingsSource>, 'environment' | 'readFile'>,
): { readonly value: string; readonly problem?: string } {
  const inFolder = (path: string): string => resolve(dirname(file), path);
  if (kind === 'part') return { value: partName(resolve(file), value) };
  if (kind === 'text') return { value: name.endsWith('_FILE') || name.endsWith('_DIR') ? inFolder(value) : value };
  const from = value.slice(value.indexOf(':') + 1);
  if (value.startsWith('env:')) {
    const given = environment[from];
    return given ? { value: given } : { value: '', problem: `is \`${value}\`, but ${from} is not set` };
  }
  // systemd gives each unit its secrets in a folder of its own.
  const folder = environment.CREDENTIALS_DIRECTORY || dirname(file);
  const read = withSecretFiles({ [`${name}_FILE`]: resolve(folder, from) }, readFile);
  const content = read.ok ? read.settings[name] : undefined;
  return content ? { value: content } : { value: '', problem: `is \`${value}\`: that file is empty or cannot be read` };
}

/** The problem of one value, as the rest of a sentence. */
export function problemOfSetting(schema: z.ZodObject, name: string, value: string): string | undefined {
  const field = schema.shape[name];
  if (field === undefined) return undefined;
  const read = readSettings(z.object({ [name]: field }), { [name]: value });
  return read.ok ? undefined : read.message.slice(name.length + 1);
}
