import { ClientError } from './errors.ts';
import { problemOfPins } from './pins/client-pins.ts';

/**
 * Checks the value of an option. Returns undefined if it is valid, otherwise the end of a sentence that begins with the
 * option's name.
 */
export type OptionKind = (value: unknown) => string | undefined;

/**
 * Throws `option_invalid` for an unknown option or an unusable value. Ignoring a misspelt name or word would drop the
 * protection that it asks for.
 */
export function requireOptions(options: object, kinds: Readonly<Record<string, OptionKind>>, within = ''): void {
  const names = Object.keys(kinds);
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const detail = `\`${within}${unknown}\` is unknown; the options are ${names.map((name) => `\`${within}${name}\``).join(', ')}.`;
    throw new ClientError('option_invalid', `${within}${unknown}`, { detail });
  }
  for (const [name, kind] of Object.entries(kinds)) {
    const problem = kind(Reflect.get(options, name));
    if (problem === undefined) continue;
    throw new ClientError('option_invalid', `${within}${name}`, { detail: `\`${within}${name}\` ${problem}.` });
  }
}

/** Options that may be left out. `null` does not count as left out. */
export const optional =
  (kind: OptionKind): OptionKind =>
  (value) =>
    value === undefined ? undefined : kind(value);

/** An object with its own options. */
export const group =
  (name: string, kinds: Readonly<Record<string, OptionKind>>): OptionKind =>
  (value) => {
    if (typeof value !== 'object' || value === null) return `must be an object; it is ${shown(value)}`;
    requireOptions(value, kinds, `${name}.`);
    return undefined;
  };

const kindOf =
  (takes: string, isOne: (value: unknown) => boolean): OptionKind =>
  (value) =>
    isOne(value) ? undefined : `must be ${takes}; it is ${shown(value)}`;

export const flag = kindOf('`true` or `false`', (value) => typeof value === 'boolean');
export const callback = kindOf('a function', (value) => typeof value === 'function');
export const count = kindOf(
  'a whole number from 0 on',
  (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0,
);
export const duration = kindOf('a number of ms above 0', (value) => typeof value === 'number' && value > 0);
export const abortSignal = kindOf(
  'an `AbortSignal`',
  (value) => typeof value === 'object' && value !== null && 'aborted' in value,
);
/** A string that errors never repeat, because it may be a key. */
export const text: OptionKind = (value) =>
  typeof value === 'string' && value !== '' ? undefined : 'must be a text that is not empty';
export const oneOf = (words: readonly string[]): OptionKind =>
  kindOf(`one of ${words.map((word) => `\`${word}\``).join(', ')}`, (value) => words.some((word) => word === value));
export const ownPins: OptionKind = (value) => {
  const problem = problemOfPins(value);
  return problem && `cannot be used: ${problem}`;
};

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 64));
  if (value === null || ['number', 'boolean', 'undefined'].includes(typeof value)) return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
