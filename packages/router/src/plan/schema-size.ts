/**
 * How many bytes a JSON schema has where every `$ref` into it is written out: some providers do, and count the tokens of
 * that. A schema that refers to itself counts once a round. Linear in the schema, however often its parts are used.
 */
export function expandedSchemaBytes(schema: unknown): number {
  const known = new Map<unknown, number>();
  const underWay = new Set<unknown>();
  const sizeOf = (node: unknown): number => {
    if (typeof node !== 'object' || node === null) return Buffer.byteLength(JSON.stringify(node) ?? '');
    const found = known.get(node);
    if (found !== undefined) return found;
    if (underWay.has(node)) return 0;
    underWay.add(node);
    let bytes = 2;
    for (const [key, value] of Object.entries(node)) {
      bytes += Buffer.byteLength(key) + 4 + sizeOf(value);
      if (key === '$ref' && typeof value === 'string') bytes += sizeOf(targetOf(schema, value));
    }
    underWay.delete(node);
    known.set(node, bytes);
    return bytes;
  };
  return sizeOf(schema);
}

/** What a reference such as `#/$defs/item` points to; undefined for one that leads nowhere, or out of the schema. */
function targetOf(schema: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  let node: unknown = schema;
  for (const step of reference.split('/').slice(1)) {
    if (typeof node !== 'object' || node === null) return undefined;
    node = (node as Record<string, unknown>)[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return node;
}
