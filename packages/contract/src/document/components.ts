import * as evidence from '@sotto/attestation/documents';
import * as wire from '@sotto/wire';
import * as z from 'zod';

const ending = /(?:Answer)?Schema$/;

/** The schemas of the document by their names there, which follow from their exports: `createKeySchema` is `CreateKey`, `keyAnswerSchema` is `Key`. */
export const components: ReadonlyMap<string, z.ZodType> = namedSchemas();

function namedSchemas(): Map<string, z.ZodType> {
  const named = new Map<string, z.ZodType>();
  for (const [exported, value] of Object.entries({ ...wire, ...evidence })) {
    if (!(value instanceof z.ZodType) || !ending.test(exported)) continue;
    const name = exported.charAt(0).toUpperCase() + exported.slice(1).replace(ending, '');
    if (named.has(name)) throw new Error(`two schemas would be called ${name} in the document`);
    named.set(name, value);
  }
  return named;
}

const names: ReadonlyMap<z.ZodType, string> = new Map([...components].map(([name, schema]) => [schema, name]));

/** The name of a schema in the document. Throws for one that no package exports. */
export function nameOf(schema: z.ZodType): string {
  const name = names.get(schema);
  if (name === undefined) throw new Error('a route uses a schema that has no name: export it from @sotto/wire');
  return name;
}
