import { type ScimOperation, scimGroupBodySchema, scimUserBodySchema } from '@sotto/contract/control/scim';
import { isObject } from '@sotto/wire';
import { ScimError } from './scim-error.ts';
import { readPath, type ScimPath } from './scim-path.ts';

/** A resource, or a value with sub-attributes. */
export type Attributes = Readonly<Record<string, unknown>>;

/** An operation. Its value may be part of another one's. */
interface Operation extends Omit<ScimOperation, 'value'> {
  readonly value?: unknown;
}

/** Attributes that only the service writes. */
const readOnly: ReadonlySet<string> = new Set(['id', 'meta', 'groups', 'schemas']);

/** Returns a resource after the operations of a `PATCH` (RFC 7644, 3.5.2). Throws a `ScimError` of the first that is impossible. */
export const applyPatch = (resource: Attributes, operations: readonly Operation[]): Attributes =>
  operations.reduce(applyOperation, resource);

function applyOperation(resource: Attributes, { op, path, value }: Operation): Attributes {
  if (path === undefined) {
    if (op === 'remove') throw new ScimError('noTarget', 'An operation `remove` needs a `path`.');
    if (!isObject(value))
      throw new ScimError('invalidValue', 'An operation without a `path` needs an object as its value.');
    // Each name may itself be a path, as Microsoft Entra ID sends it. What only the service writes is skipped.
    const entries = Object.entries(value).filter(([name]) => !readOnly.has(name.toLowerCase()));
    return entries.reduce(
      (changed, [name, each]) => applyOperation(changed, { op, path: name, value: each }),
      resource,
    );
  }
  const target = readPath(path);
  if (target === undefined) return resource;
  if (readOnly.has(target.attribute.toLowerCase()))
    throw new ScimError('mutability', `\`${path}\` is written only by this service.`);
  const name = nameIn(resource, target.attribute);
  const given = isList(name) && target.where === undefined && isObject(value) ? [value] : value;
  return set(resource, name, changed(resource[name], target, { op, value: given }));
}

/** Returns the value of an attribute after an operation. Undefined: it is removed. */
function changed(present: unknown, { where, sub }: ScimPath, { op, value }: Pick<Operation, 'op' | 'value'>): unknown {
  if (where !== undefined) {
    const elements = Array.isArray(present) ? present : [];
    const isMeant = (element: unknown): boolean =>
      isObject(element) && sameText(element[nameIn(element, where.attribute)], where.value);
    if (op === 'remove')
      return sub === undefined
        ? elements.filter((element) => !isMeant(element))
        : elements.map((element) =>
            isMeant(element) && isObject(element) ? set(element, nameIn(element, sub), undefined) : element,
          );
    const put = (element: Attributes): unknown =>
      sub === undefined ? { ...element, ...(isObject(value) ? value : {}) } : set(element, nameIn(element, sub), value);
    return elements.some(isMeant)
      ? elements.map((element) => (isMeant(element) && isObject(element) ? put(element) : element))
      : [...elements, put({ [where.attribute]: where.value })];
  }
  if (sub !== undefined) {
    const parent = isObject(present) ? present : {};
    return set(parent, nameIn(parent, sub), op === 'remove' ? undefined : value);
  }
  if (op === 'remove') return Array.isArray(present) && Array.isArray(value) ? without(present, value) : undefined;
  if (op === 'add' && Array.isArray(present)) {
    const added = [value].flat();
    return [...without(present, added), ...added];
  }
  if (op === 'add' && isObject(present) && isObject(value)) return { ...present, ...value };
  return value;
}

/** Returns the elements whose `value` none of the others has. */
function without(elements: readonly unknown[], others: readonly unknown[]): unknown[] {
  const values = new Set(others.map(idOf));
  return elements.filter((element) => !values.has(idOf(element)));
}

const idOf = (element: unknown): string => String(isObject(element) ? element.value : element).toLowerCase();

const sameText = (one: unknown, other: unknown): boolean =>
  String(one ?? '').toLowerCase() === String(other).toLowerCase();

const names = [
  ...Object.keys({ ...scimUserBodySchema.shape, ...scimGroupBodySchema.shape }),
  ...['value', 'type', 'primary', 'display'],
  ...Object.keys(scimUserBodySchema.shape.name.unwrap().shape),
];

/** Names of attributes do not depend on case (RFC 7643, 2.1). */
const nameIn = (attributes: Attributes, name: string): string =>
  [...Object.keys(attributes), ...names].find((each) => each.toLowerCase() === name.toLowerCase()) ?? name;

/** Attributes with several values. A client may send one alone. */
const isList = (name: string): boolean => name === 'members' || name === 'emails';

function set(attributes: Attributes, name: string, value: unknown): Attributes {
  const { [name]: _, ...others } = attributes;
  return value === undefined || value === null ? others : { ...others, [name]: value };
}
