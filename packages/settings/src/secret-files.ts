import type { Environment, Settings } from './read-settings.ts';

/** Whether a setting of this name may be a secret; the `TLS_` ones are files by themselves, and Amazon's has its word first. */
export const isSecretName = (name: string): boolean =>
  /^(?!TLS_)[A-Z][A-Z0-9_]*_(?:KEY|SECRET|URL|PASSWORD|TOKEN|BEARER_TOKEN_[A-Z0-9]+)$/.test(name);

const suffix = '_FILE';

/**
 * Takes secrets out of files: where `NAME_FILE` is set, `NAME` is what is in that file, without the line break at its end.
 * This is how orchestrators hand secrets over, and it keeps them out of the environment, which others can list. What is wrong
 * comes back as one line, without the content.
 *
 * @param readFile - Throws where there is no such file, or it cannot be read.
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
