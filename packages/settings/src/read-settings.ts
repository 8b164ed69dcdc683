import type { z } from 'zod';

/** An environment as a process has it; an empty value counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type Settings<T> =
  | { readonly ok: true; readonly settings: T }
  | { readonly ok: false; readonly message: string };

/**
 * Reads settings out of an environment. What is wrong comes back as one line that names the variable, what it got and
 * what it takes (design 6); values of secrets and of URLs, which may carry passwords, are not repeated.
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
