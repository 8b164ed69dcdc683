/** Tokens that templates add around content. They are generous, because a hold must be a true upper bound. */
export const allowance = { request: 64, message: 16, tool: 512, toolUse: 1024, format: 512, image: 49_152 } as const;

/** The parts of a chat that a template wraps. */
export interface TemplatedParts {
  readonly messages: number;
  readonly tools: number;
  readonly images: number;
  /** Whether the answer must be JSON. */
  readonly hasFormat: boolean;
}

/** The most tokens that a chat has beside its text: its images, and what templates add. */
export const templateTokensAtMost = ({ messages, tools, images, hasFormat }: TemplatedParts): number =>
  allowance.request +
  messages * allowance.message +
  tools * allowance.tool +
  (tools > 0 ? allowance.toolUse : 0) +
  (hasFormat ? allowance.format : 0) +
  images * allowance.image;

/** Stands for more bytes than any context window holds. */
export const unboundedBytes = 2 ** 40;

/** The most references that are expanded. Handwritten and generated schemas have a few hundred at most. */
const mostReferences = 2000;

/**
 * Whether JSON text has a keyword by which a schema refers to a part of itself. Quotes inside strings are escaped, so
 * they do not match.
 */
export const hasReferences = (json: string): boolean =>
  json.includes('"$ref":') || json.includes('"$dynamicRef":') || json.includes('"$recursiveRef":');

/**
 * How many bytes a JSON schema has with every reference expanded. Some providers expand references and bill the tokens.
 * Takes time linear in the schema, however often parts are used, and does not recurse.
 *
 * Returns `unboundedBytes` if the size depends on the reader. That is so if references form a circle, use
 * `$dynamicRef`, an anchor or an address, or stand beside parts with their own `$id`. More than 2,000 references also
 * count as unbounded. Only the context window bounds such a request.
 */
export function expandedSchemaBytes(schema: unknown): number {
  if (!isContainer(schema)) return leafBytes(schema);
  const sizes = new Map<object, number>();
  const underWay = new Set<object>([schema]);
  const path: Part[] = [];
  let references = 0;
  let hasOwnAddresses = false;
  const open = (node: object): void => {
    const part = openPart(node, schema);
    references += part.references;
    hasOwnAddresses ||= part.hasOwnAddress;
    path.push(part);
  };
  open(schema);
  for (let part = path.at(-1); part !== undefined; part = path.at(-1)) {
    const isClear = references <= mostReferences && !(references > 0 && hasOwnAddresses);
    if (part.bytes >= unboundedBytes || !isClear) return unboundedBytes;
    const inner = part.inner.at(-1);
    const known = inner === undefined ? undefined : sizes.get(inner);
    if (inner === undefined) {
      underWay.delete(part.node);
      sizes.set(part.node, part.bytes);
      path.pop();
    } else if (known !== undefined) {
      part.bytes += known;
      part.inner.pop();
    } else if (underWay.has(inner)) return unboundedBytes;
    else {
      underWay.add(inner);
      open(inner);
    }
  }
  return sizes.get(schema) ?? 0;
}

/** An object or array in a schema, while its size is computed. */
interface Part {
  readonly node: object;
  /** The parts that it contains or refers to, until their bytes are added. */
  readonly inner: object[];
  bytes: number;
  references: number;
  hasOwnAddress: boolean;
}

function openPart(node: object, root: object): Part {
  const part: Part = { node, inner: [], bytes: 2, references: 0, hasOwnAddress: false };
  const add = (value: unknown): void => {
    if (isContainer(value)) part.inner.push(value);
    else part.bytes += leafBytes(value);
    part.bytes += 1;
  };
  if (Array.isArray(node)) {
    for (const value of node) add(value);
    return part;
  }
  for (const name in node) {
    const value = (node as Fields)[name];
    part.bytes += leafBytes(name) + 1;
    add(value);
    if (typeof value !== 'string') continue;
    if (name === '$ref') {
      part.references += 1;
      const targets = targetsOf(root, value);
      if (targets === undefined) part.bytes = unboundedBytes;
      else for (const target of targets) add(target);
    } else if (name === '$dynamicRef' || name === '$recursiveRef') part.bytes = unboundedBytes;
    // Drafts 3 and 4 use `id`. Pointers below such a part start there, not at the root.
    else if (node !== root && (name === '$id' || name === 'id')) part.hasOwnAddress = true;
  }
  return part;
}

/**
 * Returns the parts that a pointer such as `#/$defs/item` may mean. Readers differ in whether they decode percent
 * signs. The set is empty if no part has that name. Undefined for an anchor or an address.
 */
function targetsOf(root: object, reference: string): ReadonlySet<unknown> | undefined {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  const written = reference.slice(1);
  return new Set([written, percentDecoded(written)].map((pointer) => at(root, pointer)).filter((t) => t !== undefined));
}

function percentDecoded(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}

function at(root: object, pointer: string): unknown {
  let node: unknown = root;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isContainer(node) || !Object.hasOwn(node, name)) return undefined;
    node = (node as Fields)[name];
  }
  return node;
}

type Fields = Readonly<Record<string, unknown>>;

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The bytes of a value as JSON. For most strings, it does not create the JSON text. */
const leafBytes = (value: unknown): number =>
  typeof value === 'string' && plainText.test(value)
    ? value.length + 2
    : utf8.encode(JSON.stringify(value) ?? '').length;

const utf8 = new TextEncoder();

const plainText = /^[ !#-[\]-~]*$/;
