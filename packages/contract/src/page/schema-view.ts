import type { JsonSchema } from '../route.ts';
import { escaped, inline } from './html.ts';

const refPrefix = '#/components/schemas/';
/** Deepest level that the page shows. Readers find deeper levels in the document. */
const deepest = 6;

/** A type in words: `string`, `array of Model`, `integer, at least 1`. Names of components are links into `prefix`. */
export function typeOf(schema: JsonSchema, prefix: string): string {
  const { $ref, anyOf, oneOf, allOf, type, items, enum: values, not } = schema as Record<string, unknown>;
  if (typeof $ref === 'string') {
    const name = $ref.slice(refPrefix.length);
    return `<a href="#${prefix}-schema-${name}">${name}</a>`;
  }
  const union = (anyOf ?? oneOf ?? allOf) as readonly JsonSchema[] | undefined;
  if (union !== undefined) return [...new Set(union.map((each) => typeOf(each, prefix)))].join(' or ');
  if (schema.const !== undefined) return `<code>${escaped(JSON.stringify(schema.const))}</code>`;
  if (Array.isArray(values)) return values.map((value) => `<code>${escaped(String(value))}</code>`).join(' ');
  if (not !== undefined) return 'not taken';
  if (type === 'array') return `array of ${typeOf((items ?? {}) as JsonSchema, prefix)}${bounds(schema)}`;
  const inside = schema.contentSchema as JsonSchema | undefined;
  if (inside !== undefined) return `${escaped(String(schema.contentMediaType))} of ${typeOf(inside, prefix)}`;
  const words = Array.isArray(type) ? type.join(' or ') : String(type ?? 'any');
  return escaped(words) + bounds(schema);
}

function bounds(schema: JsonSchema): string {
  const {
    minimum,
    maximum,
    minLength,
    maxLength,
    minItems,
    maxItems,
    format,
    default: fallback,
  } = schema as Record<string, unknown>;
  const range = (from: unknown, to: unknown, unit: string): string[] => {
    if (from === undefined && to === undefined) return [];
    if (from === undefined) return [`at most ${to}${unit}`];
    return [to === undefined ? `at least ${from}${unit}` : `${from} to ${to}${unit}`];
  };
  const said = [
    ...(typeof format === 'string' ? [format] : []),
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ' characters'),
    ...range(minItems, maxItems, ' entries'),
    ...(fallback === undefined ? [] : [`default ${JSON.stringify(fallback)}`]),
  ];
  return said.length === 0 ? '' : escaped(`, ${said.join(', ')}`);
}

/** Renders the fields of a schema as a nested list. Empty if it has no fields. */
export function fieldsOf(schema: JsonSchema, prefix: string, depth = 0): string {
  if (depth > deepest) return '';
  const { properties, items, anyOf, oneOf } = schema as Record<string, unknown>;
  const variants = (anyOf ?? oneOf) as readonly JsonSchema[] | undefined;
  if (variants !== undefined) return variantsOf(variants, prefix, depth);
  if (items !== undefined) return fieldsOf(items as JsonSchema, prefix, depth);
  if (properties === undefined) return '';
  const required = new Set((schema.required ?? []) as readonly string[]);
  const fields = Object.entries(properties as Record<string, JsonSchema>).map(([name, field]) => {
    const note = typeof field.description === 'string' ? `<div class="note">${inline(field.description)}</div>` : '';
    const mark = required.has(name) ? '<span class="required">required</span>' : '';
    return `<li><code class="name">${escaped(name)}</code> <span class="type">${typeOf(field, prefix)}</span> ${mark}${note}${fieldsOf(field, prefix, depth + 1)}</li>`;
  });
  return `<ul class="fields">${fields.join('')}</ul>`;
}

function variantsOf(variants: readonly JsonSchema[], prefix: string, depth: number): string {
  const shown = variants
    .map((each) => ({ each, fields: fieldsOf(each, prefix, depth) }))
    .filter(({ fields }) => fields !== '');
  if (shown.length < 2) return shown[0]?.fields ?? '';
  return `<ul class="variants">${shown
    .map(({ each, fields }, index) => `<li><span class="type">${variantName(each, index)}</span>${fields}</li>`)
    .join('')}</ul>`;
}

/** Names a variant by the constant that distinguishes it. */
function variantName({ properties }: JsonSchema, index: number): string {
  for (const [name, field] of Object.entries((properties ?? {}) as Record<string, JsonSchema>)) {
    if (typeof field.const === 'string') return `with <code>${escaped(`${name}: "${field.const}"`)}</code>`;
  }
  return `variant ${index + 1}`;
}
