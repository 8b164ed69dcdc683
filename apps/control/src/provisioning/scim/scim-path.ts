import { ScimError } from './scim-error.ts';

/** `emails[type eq "work"].value`: an attribute, optionally the elements that a comparison selects, and a sub-attribute. */
export interface ScimPath {
  readonly attribute: string;
  readonly where: Comparison | undefined;
  readonly sub: string | undefined;
}

/** `attribute eq value`, the only comparison that is supported. */
export interface Comparison {
  readonly attribute: string;
  readonly value: string | boolean;
}

const name = '[A-Za-z$][\\w$-]*';
const literal = '"(?:[^"\\\\]|\\\\.)*"|true|false';
const pathPattern = new RegExp(
  `^(?<attribute>${name})(?:\\[\\s*(?<of>${name})\\s+eq\\s+(?<value>${literal})\\s*\\])?(?:\\.(?<sub>${name}))?$`,
  'i',
);
const filterPattern = new RegExp(`^(?<attribute>${name}(?:\\.${name})?)\\s+eq\\s+(?<value>${literal})$`, 'i');
const coreSchema = /^urn:ietf:params:scim:schemas:core:2\.0:(User|Group):/i;
const extension = /^urn:/i;

/** Reads a path (RFC 7644, 3.5.2). Undefined: it is of an extension, whose attributes are ignored here. */
export function readPath(text: string): ScimPath | undefined {
  const own = text.trim().replace(coreSchema, '');
  if (extension.test(own)) return undefined;
  const { attribute, of, value, sub } = pathPattern.exec(own)?.groups ?? {};
  if (attribute === undefined || unsafe.has(attribute) || (sub !== undefined && unsafe.has(sub)))
    throw new ScimError('invalidPath', `\`${text}\` is not a path. Write one as \`name.givenName\`.`);
  const where = of === undefined || value === undefined ? undefined : { attribute: of, value: readLiteral(value) };
  return { attribute, where, sub };
}

/** Names that would change what objects inherit. */
const unsafe: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Reads a filter of lists (3.4.2.2). `attributes`: those that it may compare, in lower case. */
export function readFilter(text: string, attributes: ReadonlySet<string>): Comparison {
  const { attribute = '', value } = filterPattern.exec(text.trim().replace(coreSchema, ''))?.groups ?? {};
  const compared = attribute.toLowerCase();
  if (value === undefined || !attributes.has(compared)) {
    const known = [...attributes].map((each) => `\`${each}\``).join(', ');
    throw new ScimError('invalidFilter', `\`filter\` takes one comparison by \`eq\` of ${known}.`);
  }
  return { attribute: compared, value: readLiteral(value) };
}

function readLiteral(text: string): string | boolean {
  if (!text.startsWith('"')) return text.toLowerCase() === 'true';
  try {
    return String(JSON.parse(text));
  } catch {
    throw new ScimError('invalidFilter', 'A value that is compared must be a JSON text.');
  }
}
