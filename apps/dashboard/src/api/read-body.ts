import type { BodyField, BodyFields } from '@sotto/contract';
import { formatCount, readUsd, usdMistake } from '../format/format.ts';

/** A field that a form shows. */
export interface ShownField {
  readonly name: string;
  /** A typed text, also of a number or a list; or the value itself. */
  readonly value: unknown;
  /** The user chooses the value: the field never goes without one. */
  readonly isChoice?: boolean;
  /** The user cannot leave the field empty, even if a body may omit it. */
  readonly required?: boolean | undefined;
  /** The value before the user changed it. */
  readonly start: unknown;
  /** The sentence for a text that the field does not take. */
  readonly mistake?: string | undefined;
  /** Whether the field takes a value of the right type. */
  readonly accepts?: ((value: never) => boolean) | undefined;
}

export interface ReadBody {
  readonly body: object;
  /** Sentences by the name of the field at fault. */
  readonly mistakes: Readonly<Record<string, string>>;
}

/**
 * Reads what stands in a form as the body that a route takes. `rest` is the part of the body that the form does not show.
 * With `onlyChanged`, leaves out optional fields that the user did not change.
 */
export function readBody(
  fields: BodyFields,
  shown: Iterable<ShownField>,
  {
    rest = {},
    onlyChanged = false,
  }: { readonly rest?: Readonly<Record<string, unknown>>; readonly onlyChanged?: boolean },
): ReadBody {
  const body: Record<string, unknown> = {};
  const mistakes: Record<string, string> = {};
  for (const [name, value] of Object.entries(rest)) put(body, name, value);
  for (const { name, value, isChoice = false, required = false, start, mistake, accepts } of shown) {
    const field = fields[name] ?? { type: 'other' };
    if (isChoice && value === undefined) {
      // An absent field may have a meaning of its own: a budget without a key limits the whole workspace.
      mistakes[name] = mistake ?? 'Choose one.';
      continue;
    }
    if (required && isBlank(value)) {
      mistakes[name] = mistake ?? 'Fill in this field.';
      continue;
    }
    const read = readValue(name, field, value);
    if (read === wrong || (accepts !== undefined && !accepts(read as never))) {
      mistakes[name] = mistake ?? (name.endsWith('_usd') ? usdMistake : countMistake(field));
      continue;
    }
    const isSame = JSON.stringify(read) === JSON.stringify(start);
    if (!onlyChanged || field.required === true || !isSame) put(body, name, read);
  }
  return { body, mistakes };
}

const countMistake = ({ max }: BodyField): string =>
  `Enter a whole number above 0${max === undefined ? '' : `, at most ${formatCount(max)}`}.`;
const isBlank = (value: unknown): boolean => typeof value !== 'object' && String(value ?? '').trim() === '';
const wrong = Symbol('not a value of the field');

/** Undefined leaves the field out. A required field that the user never touched is as empty as one that was cleared. */
function readValue(name: string, field: BodyField, value: unknown): unknown {
  if (value === undefined && field.required === true && field.type !== 'other') return readValue(name, field, '');
  if (typeof value !== 'string') return value;
  // Blanks may be part of a password.
  const text = /password/i.test(name) ? value : value.trim();
  if (field.type === 'texts' && (text !== '' || field.nullable !== true)) return linesOf(text);
  const isNumber = field.type === 'number' || field.type === 'integer';
  if (text === '' && field.nullable === true) return null;
  if (text === '' && field.required !== true) return undefined;
  return isNumber ? readNumber(field, text) : text;
}

function readNumber({ type, min, above, max }: BodyField, text: string): unknown {
  const value = type === 'number' ? readUsd(text) : readCount(text);
  const isRight =
    typeof value === 'number' &&
    value >= (min ?? value) &&
    value > (above ?? Number.NEGATIVE_INFINITY) &&
    value <= (max ?? value);
  return isRight ? value : wrong;
}

function readCount(text: string): number | undefined {
  const digits = /^\d{1,3}(,\d{3})+$/.test(text) ? text.replaceAll(',', '') : text;
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
}

/** The lines of a text, without blank ones. */
export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** Sets a field of a body. Both names of a field within another object are in `name`, with a dot between them. */
function put(body: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) return;
  const [outer = '', inner] = name.split('.');
  if (inner === undefined) body[outer] = value;
  else body[outer] = { ...(body[outer] as object | null | undefined), [inner]: value };
}
