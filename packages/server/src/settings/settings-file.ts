import { readFile } from 'node:fs/promises';
import { type FileProblem, type FileResult, readYaml, type YamlSource } from '@sotto/yaml';
import { type Environment, isSecretName } from './read-settings.ts';
import { inlineParts, onlyVariables, type Plane, settingPaths } from './setting-paths.ts';

/** A value of `sotto.yaml`, as its variable would have it. */
export interface FileSetting {
  readonly path: string;
  readonly line: number;
  /** The text, or a reference to a secret (`env:NAME`, `file:PATH`). An inline part has the text of its path. */
  readonly value: string;
  readonly kind: 'text' | 'reference' | 'part';
}

/** The settings of a file, by their paths. */
export type FileSettings = ReadonlyMap<string, FileSetting>;

const entries = Object.values(settingPaths).flatMap((paths) => Object.entries(paths));
const variables: ReadonlyMap<string, string> = new Map(entries.map(([variable, path]) => [path, variable]));
const parts: ReadonlySet<string> = new Set(Object.values(inlineParts));
/** The keys of each map of the file, by its path. */
const keys = keysByParent([...variables.keys(), ...parts]);

/** Reads the text of `sotto.yaml`. Refuses unknown keys and secrets that are not references, each with its line. */
export function readSettingsFile(text: string): FileResult<FileSettings> {
  const read = readYaml(text);
  if (!read.ok) return read;
  const found = new Map<string, FileSetting>();
  const problems = [...problemsIn(read.value.value ?? {}, [], read.value, found), ...problemsOfBoth(found)];
  return problems.length > 0
    ? { ok: false, problems: problems.sort((a, b) => a.line - b.line) }
    : { ok: true, value: found };
}

/** The settings of a file that a process reads, by their variables. */
export const settingsOf = (file: FileSettings, plane: Plane): ReadonlyMap<string, FileSetting> =>
  new Map(
    Object.entries(settingPaths[plane]).flatMap(([variable, path]): [string, FileSetting][] => {
      const setting = file.get(path) ?? file.get(inlineParts[variable] ?? '');
      return setting === undefined ? [] : [[variable, setting]];
    }),
  );

/** The paths of a file that the planes of `npm start` would read in processes of their own, but that `npm start` does not read. */
export function unreadByStart(file: FileSettings): string[] {
  const read = new Set([...Object.values(settingPaths.start), ...parts]);
  const ofPlanes = new Set([...Object.values(settingPaths.control), ...Object.values(settingPaths.broker)]);
  return [...file.keys()].filter((path) => ofPlanes.has(path) && !read.has(path));
}

function* problemsIn(
  value: unknown,
  trail: readonly string[],
  source: YamlSource,
  found: Map<string, FileSetting>,
): Generator<FileProblem> {
  const path = trail.join('.');
  const line = trail.length === 0 ? 1 : source.lineOfKey(trail);
  if (parts.has(path)) {
    if (source.partAt(trail) === undefined)
      yield { line, message: `\`${path}\` must be a list or a map in block style, below its key` };
    else found.set(path, { path, line, value: path, kind: 'part' });
    return;
  }
  const variable = variables.get(path);
  if (variable !== undefined) {
    const read = settingOf(variable, textOf(value, trail, source));
    if ('problem' in read) yield { line, message: `\`${path}\` ${read.problem}` };
    else if (read.value !== '') found.set(path, { path, line, ...read });
    return;
  }
  const known = keys.get(path);
  if (known === undefined) return yield { line, message: unknownKey(trail) };
  // A key without a value has no settings.
  if (value === null) return;
  if (typeof value !== 'object' || Array.isArray(value)) {
    yield { line, message: `\`${path || 'the file'}\` must be a map with keys such as \`${[...known][0]}\`` };
    return;
  }
  for (const [key, below] of Object.entries(value)) yield* problemsIn(below, [...trail, key], source, found);
}

function settingOf(
  variable: string,
  text: string | undefined,
): { readonly value: string; readonly kind: FileSetting['kind'] } | { readonly problem: string } {
  if (text === undefined) return { problem: 'must be a text, a number, `on`, `off` or a list of these' };
  if (!isSecretName(variable) || text === '') return { value: text, kind: 'text' };
  if (/^(env:[A-Za-z_]\w*|file:.+)$/.test(text)) return { value: text, kind: 'reference' };
  if (variable.endsWith('_URL') && !mayHavePassword(text)) return { value: text, kind: 'text' };
  return { problem: 'must be a reference to a secret, not the secret: `env:NAME` or `file:/path`' };
}

/** Returns the text of a value. A number keeps its digits, because it may be an id that no number holds. */
function textOf(value: unknown, trail: readonly PropertyKey[], source: YamlSource): string | undefined {
  if (value === null) return '';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'number' || typeof value === 'string') return source.numberAt(trail) ?? String(value);
  if (!Array.isArray(value)) return undefined;
  const texts = value.map((each, index) => (Array.isArray(each) ? undefined : textOf(each, [...trail, index], source)));
  return texts.includes(undefined) ? undefined : texts.join(',');
}

/** Whether a URL may contain a password, before its host or in its query. Of the query, `cluster=1` is our own. */
const mayHavePassword = (text: string): boolean =>
  !/^[a-z+]+:\/\//.test(text) || /:\/\/[^@]*:[^@]*@|[?&](?!cluster=1$)\w+=/.test(text);

function unknownKey(trail: readonly string[]): string {
  const key = trail.at(-1) ?? '';
  const parent = trail.slice(0, -1).join('.');
  const siblings = keys.get(parent) ?? new Set();
  const under = (name: string): string => (parent === '' ? name : `${parent}.${name}`);
  const near = nearest(key, siblings);
  const suggestion =
    near === undefined ? [...variables.keys()].find((path) => path.split('.').at(-1) === key) : under(near);
  const hint =
    suggestion === undefined
      ? `Known here: ${[...siblings].sort().join(', ')}`
      : `The nearest key is \`${suggestion}\``;
  return `\`${under(key)}\` is not a setting. ${hint}`;
}

/** A file and its inline content contradict each other. */
function* problemsOfBoth(found: FileSettings): Generator<FileProblem> {
  for (const [variable, part] of Object.entries(inlineParts)) {
    const path = entries.find(([name]) => name === variable)?.[1] ?? '';
    const line = found.get(part)?.line;
    if (line !== undefined && found.has(path))
      yield { line, message: `\`${part}\` and \`${path}\` are both set: set only one` };
  }
}

function keysByParent(paths: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const byParent = new Map<string, Set<string>>();
  for (const path of paths) {
    const names = path.split('.');
    for (const [depth, name] of names.entries()) {
      const parent = names.slice(0, depth).join('.');
      byParent.set(parent, (byParent.get(parent) ?? new Set()).add(name));
    }
  }
  return byParent;
}

const variable = /\b[A-Z][A-Z0-9_]+\b/g;

/**
 * Returns a message about variables in the words of `sotto.yaml`, with the line of the first one that the file sets.
 * Undefined if the file sets none of them.
 */
export function placeInFile(
  message: string,
  plane: Plane,
  own: ReadonlyMap<string, FileSetting>,
): FileProblem | undefined {
  const first = [...message.matchAll(variable)].map(([name]) => own.get(name)).find((each) => each !== undefined);
  if (first === undefined) return undefined;
  const paths = settingPaths[plane];
  return {
    line: first.line,
    message: message.replace(variable, (name) => (paths[name] === undefined ? name : `\`${paths[name]}\``)),
  };
}

const suffixes = Object.values(inlineParts).map((part) => `#${part}`);

/** The name of a part of `sotto.yaml`, for code that takes the name of a file. */
export const partName = (file: string, part: string): string => `${file}#${part}`;

const isPartName = (name: string): boolean => suffixes.some((suffix) => name.endsWith(suffix));

/** Reads a file, or the part of `sotto.yaml` that `partName` names. Throws if it cannot be read. */
export async function readFileOrPart(name: string): Promise<Buffer> {
  if (!isPartName(name)) return readFile(name);
  const at = name.lastIndexOf('#');
  const read = readYaml(await readFile(name.slice(0, at), 'utf8'));
  const part = read.ok ? read.value.partAt(name.slice(at + 1).split('.')) : undefined;
  if (part === undefined) throw new Error(`${name} cannot be read`);
  return Buffer.from(part);
}

const settings = entries.map(([variable]) => variable);
const known: ReadonlySet<string> = new Set([
  ...settings,
  ...settings.filter(isSecretName).map((name) => `${name}_FILE`),
  ...onlyVariables,
  'CONFIG_FILE',
]);
/** What `.sotto/env` of `npm start` sets for its own commands. */
const ofQuickstart = new Set(['CONTROL_URL']);
const long = [...known].filter((name) => name.length >= 8);

/** Prefixes of our names, without those that Kubernetes gives to the variables of a service. */
const ours =
  /^(?!.*_(SERVICE|PORT)(_|$))(CONTROL|CONFIDENTIAL|BILLING|RATE_LIMIT|OIDC|BTCPAY|KEEPER|SETTLEMENT|TICKET|OTHER)_/;

/** Returns a warning for each variable that looks like a misspelled setting. */
export const misspelled = (environment: Environment): string[] =>
  Object.keys(environment).flatMap((name) => {
    if (known.has(name) || ofQuickstart.has(name) || name.length < 7) return [];
    const near = nearest(name, long);
    if (near === undefined) return ours.test(name) ? [`${name} is set, but no setting has this name`] : [];
    return [`${name} is set, but no setting has this name. The nearest is ${near}`];
  });

/** Returns the name that `written` is probably a misspelling of. Undefined if it is close to none. */
export function nearest(written: string, names: Iterable<string>): string | undefined {
  const most = Math.min(2, Math.floor(written.length / 2));
  let best: string | undefined;
  let least = most + 1;
  for (const name of names) {
    const distance = editsBetween(written, name);
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** The least number of characters to insert, delete or replace (Levenshtein). */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [at, character] of [...from].entries()) {
    const next = [at + 1];
    for (const [index, other] of [...to].entries()) {
      const [left = 0, above = 0, diagonal = 0] = [next[index], row[index + 1], row[index]];
      next.push(Math.min(left + 1, above + 1, diagonal + (character === other ? 0 : 1)));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
