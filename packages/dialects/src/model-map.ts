import { autoModelId, parseModelReference } from '@sotto/wire';

/** A rule that gives names of models to a model of the catalog. */
export interface ModelRule {
  /** A name, in which `*` stands for any text. */
  readonly pattern: string;
  readonly model: string;
}

export interface ModelNames {
  /** The first rule that matches wins. */
  readonly rules: readonly ModelRule[];
  /** The model for names that neither a rule nor the catalog knows. */
  readonly fallback: string | undefined;
  /** Whether the catalog has a model of this id. */
  readonly isKnown: (id: string) => boolean;
}

/**
 * The prefix under which the list for Claude Code offers models of other makers. Claude Code shows only ids that begin
 * with `claude` or `anthropic`.
 */
const shownPrefix = 'anthropic/';

/** The id under which Claude Code shows a model of the catalog. `catalogModel` reads it back. */
export const idForClaudeCode = (id: string): string => (/^(?:claude|anthropic)/.test(id) ? id : `${shownPrefix}${id}`);

/**
 * Returns the model of the catalog for a name that a tool sent. Rules come first, then the catalog, then ids that
 * `idForClaudeCode` wrote, then the fallback. An unknown name is returned as it is: the service refuses it with 404.
 */
export function catalogModel(name: string, { rules, fallback, isKnown }: ModelNames): string {
  const rule = rules.find(({ pattern }) => matches(pattern, name));
  if (rule !== undefined) return rule.model;
  const isModel = (id: string): boolean => id === autoModelId || isKnown(parseModelReference(id).id);
  if (isModel(name)) return name;
  const inner = name.startsWith(shownPrefix) ? name.slice(shownPrefix.length) : name;
  if (inner !== name && isModel(inner)) return inner;
  return fallback ?? name;
}

/** Reads a rule of the form `PATTERN=creator/model`. Undefined if it has another form. */
export function readModelRule(text: string): ModelRule | undefined {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1) return undefined;
  return { pattern: text.slice(0, at), model: text.slice(at + 1) };
}

/** Whether a name matches a pattern. Without regular expressions, whose backtracking a pattern could provoke. */
function matches(pattern: string, name: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let from = first.length;
  for (const middle of others) {
    const at = name.indexOf(middle, from);
    if (at === -1) return false;
    from = at + middle.length;
  }
  return from <= name.length - last.length;
}
