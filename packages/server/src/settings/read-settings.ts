import type * as z from 'zod';

/** The environment of a process. An empty value counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type Settings<T> =
  | { readonly ok: true; readonly settings: T }
  | { readonly ok: false; readonly message: string };

/**
 * Reads settings from an environment. On failure, returns one line with the variable, its value and what it takes. The line never
 * contains values of secrets and URLs, because URLs may contain passwords.
 */
export function readSettings<Schema extends z.ZodType>(
  schema: Schema,
  environment: Environment,
): Settings<z.infer<Schema>> {
  const given: Environment = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  if (parsed.success) return { ok: true, settings: parsed.data };
  const issue = parsed.error.issues[0];
  const name = String(issue?.path[0] ?? 'environment');
  return { ok: false, message: `${name} ${got(name, given[name])}: it ${issue?.message ?? 'is malformed'}` };
}

function got(name: string, value: string | undefined): string {
  if (value === undefined) return 'is not set';
  return /KEY|SECRET|URL/.test(name) ? 'has a value that cannot be used' : `is \`${value}\``;
}

/** Whether a setting of this name may be a secret. `TLS_` settings are paths themselves, and Amazon's name has the word in the middle. */
export const isSecretName = (name: string): boolean =>
  /^(?!TLS_)[A-Z][A-Z0-9_]*_(?:KEY|SECRET|URL|PASSWORD|TOKEN|BEARER_TOKEN_[A-Z0-9]+)$/.test(name);

const suffix = '_FILE';

/**
 * Reads secrets from files: if `NAME_FILE` is set, `NAME` is the content of that file without its final line break. Orchestrators
 * provide secrets this way, which keeps them out of the environment, where other processes can see them. On failure, returns one
 * line without the content.
 *
 * @param readFile - Throws if the file does not exist or cannot be read.
 */
export function withSecretFiles(environment: Environment, readFile: (path: string) => string): Settings<Environment> {
  const settings: Record<string, string | undefined> = { ...environment };
  for (const [fileName, path] of Object.entries(environment)) {
    const name = fileName.slice(0, -suffix.length);
    if (!fileName.endsWith(suffix) || !isSecretName(name) || path === undefined || path === '') continue;
    if (settings[name]) return { ok: false, message: `${name} and ${fileName} are both set: it takes one of them` };
    let content: string;
    try {
      content = readFile(path).replace(/\r?\n$/, '');
    } catch {
      return { ok: false, message: `${fileName} is \`${path}\`: it takes the path of a readable file` };
    }
    if (content === '') return { ok: false, message: `${fileName} is \`${path}\`: that file is empty` };
    settings[name] = content;
    delete settings[fileName];
  }
  return { ok: true, settings };
}

/** Returns the problem of settings of which `needed` come only together, and `optional` only with them. */
export function missingOf(
  what: string,
  settings: Readonly<Record<string, unknown>>,
  needed: readonly string[],
  optional: readonly string[] = [],
): string | undefined {
  const given = [...needed, ...optional].find((name) => settings[name] !== undefined);
  const missing = needed.find((name) => settings[name] === undefined);
  if (given === undefined || missing === undefined) return undefined;
  return `${missing} is not set: ${what} needs it beside ${given}`;
}
