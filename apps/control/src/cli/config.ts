import { join, resolve } from 'node:path';
import { extendRegistry, extendsBuiltIn } from '@sotto/router';
import {
  describeSettings,
  type FileSettings,
  inlineParts,
  isSecretName,
  readFileOrPart,
  readSettingsFile,
  settingPaths,
  settingsOf,
  settingsSchemas,
  unreadByStart,
} from '@sotto/server';
import { type FileProblem, readYaml, writeYaml } from '@sotto/yaml';
import { builtInRegistryText } from '../catalog/built-in-files.ts';
import { counted } from '../counted.ts';
import { CliError, type CliProcess, type Option, readText, replaceFile, UsageError } from './cli-process.ts';
import { partProblems, unjudged, valueProblems } from './config-problems.ts';

/**
 * Checks `sotto.yaml`: its keys, its references, its inline parts, and the values with the code of the processes that read
 * them. Opens no secret, so it also works on another machine.
 */
export async function configCheck(context: CliProcess, given: string | undefined): Promise<void> {
  const file = fileOf(context, given);
  const settings = await readSettingsOf(file);
  const problems = [...valueProblems(settings, context.environment), ...(await partProblems(file, settings))];
  if (problems.length > 0) throw problemsError(file, problems);
  context.out(`${file}: ${counted(settings.size, 'setting')}, no problems`);
  const others = unjudged(settings);
  if (others.length > 0) context.out(`not judged, because only \`npm start\` reads it: ${others.join(', ')}`);
  const unread = unreadByStart(settings);
  if (unread.length > 0) context.out(`not read by \`npm start\`: ${unread.join(', ')}`);
}

/** Prints each setting of control with its value and its source, and the others that the file has. */
export async function configShow(context: CliProcess, given: string | undefined): Promise<void> {
  const file = fileOf(context, given);
  const settings = await readSettingsOf(file);
  const ofControl = settingsOf(settings, 'control');
  const shown = new Set<string>();
  const print = (path: string, value: string, source: string): void => context.out(`${path} = ${value} (${source})`);
  for (const { name, defaultValue } of describeSettings(settingsSchemas.control)) {
    const path = settingPaths.control[name];
    if (path === undefined) continue;
    shown.add(path).add(inlineParts[name] ?? '');
    const fromVariable = context.environment[name];
    const set = ofControl.get(name);
    if (fromVariable || (isSecretName(name) && context.environment[`${name}_FILE`])) {
      print(path, isSecretName(name) ? 'set' : (fromVariable ?? ''), 'environment');
    } else if (set !== undefined) {
      print(set.path, shownValue(name, set.value, set.kind), `${file}:${set.line}`);
    } else {
      print(path, defaultValue ?? 'not set', 'default');
    }
  }
  for (const { path, value, line, kind } of settings.values()) {
    if (!shown.has(path))
      print(path, kind === 'reference' ? 'set' : kind === 'part' ? 'inline' : value, `${file}:${line}`);
  }
}

const shownValue = (name: string, value: string, kind: string): string =>
  kind === 'part' ? 'inline' : isSecretName(name) ? 'set' : value;

/**
 * Writes what is measured into the broker's image: its registry (`providers.yaml`) and its part of the settings
 * (`sotto.yaml`), without secrets.
 */
export async function configSplit(context: CliProcess, given: string | undefined, out: Option): Promise<void> {
  if (typeof out !== 'string') throw new UsageError('config split needs a folder: --out DIR');
  const file = fileOf(context, given);
  const settings = await readSettingsOf(file);
  const problems = [...valueProblems(settings, {}), ...(await partProblems(file, settings))];
  if (problems.length > 0) throw problemsError(file, problems);
  const kept: Record<string, unknown> = {};
  const left: string[] = [];
  for (const [name, { path, value, kind }] of settingsOf(settings, 'broker')) {
    if (name === 'PROVIDERS_FILE') {
      const from = kind === 'part' ? `${file}#${value}` : resolve(file, '..', value);
      const bytes = await readFileOrPart(from).catch(() => {
        throw new CliError(`cannot read ${from}`);
      });
      await write(context, join(out, 'providers.yaml'), writtenOut(bytes.toString('utf8').replace(/^\n+/, '')));
    } else if (kind === 'reference') left.push(path);
    else put(kept, path.split('.'), value);
  }
  await write(context, join(out, 'sotto.yaml'), writeYaml(kept, { comment: splitComment, onOneLine: new Set() }));
  if (left.length > 0) context.error(`left out, because an image is public: ${left.join(', ')}`);
}

/** The registry of an image, whose digest clients pin, has all its providers in writing. */
function writtenOut(registry: string): string {
  const source = extendsBuiltIn(registry) ? readYaml(registry) : undefined;
  if (source?.ok !== true) return registry;
  const { value } = extendRegistry({ text: builtInRegistryText() })(source.value.value);
  return writeYaml(value, { comment: splitRegistryComment, onOneLine: new Set(['request', 'timeouts', 'api_keys']) });
}

const splitRegistryComment = 'The built-in registry with your changes, written by `sotto-control config split`.';
const splitComment = "The broker's part of sotto.yaml, written by `sotto-control config split`.";

async function write({ out }: CliProcess, file: string, text: string): Promise<void> {
  await replaceFile(file, text);
  out(file);
}

/** Sets a value below a path of keys. Creates the maps above it. */
function put(root: Record<string, unknown>, [key = '', ...below]: readonly string[], value: string): void {
  if (below.length === 0) root[key] = value;
  else {
    root[key] ??= {};
    put(root[key] as Record<string, unknown>, below, value);
  }
}

const fileOf = (context: CliProcess, given: string | undefined): string =>
  given ?? (context.environment.CONFIG_FILE || 'sotto.yaml');

async function readSettingsOf(file: string): Promise<FileSettings> {
  const read = readSettingsFile(await readText(file));
  if (!read.ok) throw problemsError(file, read.problems);
  return read.value;
}

const problemsError = (file: string, problems: readonly FileProblem[]): CliError =>
  new CliError(
    [
      `${file} has problems:`,
      ...problems.toSorted((a, b) => a.line - b.line).map(({ line, message }) => `  ${file}:${line}: ${message}`),
    ].join('\n'),
  );
