import { inOrder } from '@sotto/wire';
import { asArray, asObject, asString, type JsonObject } from '../json.ts';

/** The most branches that one schema may have, at all depths together. References may be circular, and multiply. */
const maxBranches = 100;

/**
 * Returns the schema of a tool's arguments as one object, for APIs that refuse `anyOf`, `oneOf` and `allOf` at its top.
 * The properties of all branches become properties of the object. It requires what every branch of an `anyOf` or
 * `oneOf`, and any branch of an `allOf`, requires. The description tells the model which sets of properties the branches
 * require. Branches beyond the hundredth are left out.
 *
 * @see https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */
export function objectSchema(schema: JsonObject | undefined): JsonObject {
  if (schema === undefined || !combinators.some((name) => name in schema)) {
    return { type: 'object', properties: {}, ...schema };
  }
  const { properties, required, alternatives, own } = flattened(schema, {
    root: schema,
    above: [],
    left: { branches: maxBranches },
  });
  const told = alternatives
    .filter((names) => names.length > 0)
    .map((names) => names.map((name) => `\`${name}\``).join(', '));
  const hint = told.length < 2 ? undefined : `Give one of these sets of properties: ${told.join('; or ')}.`;
  const description = [asString(own.description), hint].filter((text) => text !== undefined).join(' ');
  return {
    ...own,
    type: 'object',
    properties: inOrder(properties),
    ...(required.size === 0 ? {} : { required: [...required] }),
    ...(description === '' ? {} : { description }),
  };
}

const combinators = ['allOf', 'anyOf', 'oneOf'] as const;

interface Flattened {
  readonly properties: Map<string, unknown>;
  readonly required: Set<string>;
  /** What each branch of an `anyOf` or `oneOf` requires. */
  readonly alternatives: string[][];
  /** The other keywords. */
  readonly own: JsonObject;
}

/** Where a walk through a schema stands. */
interface Walk {
  readonly root: JsonObject;
  readonly above: readonly JsonObject[];
  /** Counts down for the whole schema. */
  readonly left: { branches: number };
}

function flattened(schema: JsonObject, walk: Walk): Flattened {
  const { allOf, anyOf, oneOf, required: _, properties: __, ...own } = schema;
  const flat: Flattened = {
    properties: new Map(Object.entries(asObject(schema.properties) ?? {})),
    required: new Set(names(schema.required)),
    alternatives: [],
    own,
  };
  const branchesOf = (list: unknown): Flattened[] => {
    const above = [...walk.above, schema];
    return (asArray(list) ?? []).flatMap((branch) => {
      const target = resolved(asObject(branch) ?? {}, walk.root);
      // A schema within itself adds nothing.
      if (above.includes(target) || walk.left.branches === 0) return [];
      walk.left.branches -= 1;
      return [flattened(target, { ...walk, above })];
    });
  };
  for (const branch of branchesOf(allOf)) {
    addProperties(flat.properties, branch.properties);
    for (const name of branch.required) flat.required.add(name);
    flat.alternatives.push(...branch.alternatives);
  }
  for (const list of [anyOf, oneOf]) {
    const branches = branchesOf(list);
    for (const branch of branches) {
      addProperties(flat.properties, branch.properties);
      flat.alternatives.push([...branch.required]);
    }
    const [first, ...others] = branches;
    for (const name of first?.required ?? []) {
      if (others.every(({ required }) => required.has(name))) flat.required.add(name);
    }
  }
  return flat;
}

/** Adds properties. A property that two branches describe differently may be either. */
function addProperties(properties: Map<string, unknown>, more: ReadonlyMap<string, unknown>): void {
  for (const [name, schema] of more) {
    const known = properties.get(name);
    const isSame = known === undefined || JSON.stringify(known) === JSON.stringify(schema);
    const others = asArray(asObject(known)?.anyOf) ?? [known];
    properties.set(name, isSame ? schema : { anyOf: [...others, schema] });
  }
}

/** Follows a reference to a definition of the same schema. */
function resolved(schema: JsonObject, root: JsonObject): JsonObject {
  const [, table = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(asString(schema.$ref) ?? '') ?? [];
  return asObject(asObject(root[table])?.[name]) ?? schema;
}

const names = (required: unknown): string[] => (asArray(required) ?? []).filter((name) => typeof name === 'string');
