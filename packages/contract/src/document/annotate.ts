import type { JsonSchema } from '../route.ts';

type Mutable = { [keyword: string]: unknown };

/**
 * Writes notes into named schemas, in place. A note is for a component (`Pricing`) or for every field of a name in it,
 * however deep (`Uptime.success_rate`). Throws for one that finds nothing: what it was about has gone or has another name.
 */
export function annotate(
  schemas: Readonly<Record<string, JsonSchema>>,
  notes: Readonly<Record<string, string | JsonSchema>>,
): void {
  for (const [place, note] of Object.entries(notes)) {
    const [component = '', field] = place.split('.');
    const schema = schemas[component];
    const found = schema === undefined ? [] : field === undefined ? [schema] : fieldsNamed(field, schema);
    if (found.length === 0) throw new Error(`a note about ${place}, which there is not`);
    for (const target of found)
      Object.assign(target as Mutable, typeof note === 'string' ? { description: note } : note);
  }
}

function fieldsNamed(name: string, schema: unknown): JsonSchema[] {
  if (Array.isArray(schema)) return schema.flatMap((each) => fieldsNamed(name, each));
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties, items, anyOf, oneOf, allOf } = schema as Mutable;
  const own = Object.entries((properties ?? {}) as Record<string, JsonSchema>);
  return [
    ...own.filter(([each]) => each === name).map(([, found]) => found),
    ...own.filter(([each]) => each !== name).flatMap(([, inner]) => fieldsNamed(name, inner)),
    ...[items, anyOf, oneOf, allOf].flatMap((inner) => fieldsNamed(name, inner)),
  ];
}
