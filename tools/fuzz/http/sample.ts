import type { SeededRandom } from '../../../packages/attestation/src/testing/mutate.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The content of generated strings if their schema allows any. No error may return it. */
export const marker = 'MARK-9f31c7';

const knownStrings: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  email: 'somebody@fuzz.example',
  uuid: '7f9c0d5e-8d0e-4b57-9a3f-1d2f7b7c9a10',
  uri: 'https://fuzz.example/x',
};

/** Generates a value that roughly fits a JSON schema. For patterns it uses `examples`. */
export function sample(
  schema: Schema,
  components: Readonly<Record<string, Schema>>,
  random: SeededRandom,
  depth = 0,
): unknown {
  const inside = (inner: unknown): unknown => sample((inner ?? {}) as Schema, components, random, depth + 1);
  const pick = <T>(from: readonly T[]): T | undefined => from[random.below(Math.max(1, from.length))];
  if (typeof schema.$ref === 'string') return inside(components[schema.$ref.split('/').at(-1) ?? '']);
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return pick(schema.enum);
  if ('example' in schema && random.below(2) === 0) return structuredClone(schema.example);
  if ('default' in schema && random.below(3) === 0) return structuredClone(schema.default);
  for (const keyword of ['anyOf', 'oneOf']) {
    const options = schema[keyword];
    if (Array.isArray(options) && options.length > 0) return inside(pick(options));
  }
  if (Array.isArray(schema.allOf)) return Object.assign({}, ...schema.allOf.map(inside));
  const type = Array.isArray(schema.type) ? pick(schema.type) : schema.type;
  switch (type) {
    case 'object': {
      const made: Record<string, unknown> = {};
      const required = (schema.required ?? []) as string[];
      for (const [name, inner] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
        if (required.includes(name) || (depth < 6 && random.below(3) === 0)) made[name] = inside(inner);
      }
      return made;
    }
    case 'array':
      return Array.from({ length: depth > 6 ? 0 : Number(schema.minItems ?? 0) + random.below(3) }, () =>
        inside(schema.items),
      );
    case 'integer':
    case 'number':
      return Number(schema.minimum ?? 0) + random.below(Math.min(1000, Number(schema.maximum ?? 1000) + 1));
    case 'boolean':
      return random.below(2) === 0;
    case 'null':
      return null;
    default:
      return knownStrings[String(schema.format)] ?? `${marker}${random.below(10)}`;
  }
}
