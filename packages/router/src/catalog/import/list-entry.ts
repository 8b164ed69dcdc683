import * as z from 'zod';

/** Reads another vendor's list loosely: a field of an unexpected shape counts as absent. */
const loose = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().catch(undefined);

const count = loose(z.number().int().min(1).max(100_000_000));
const names = loose(z.array(z.string()));
const entrySchema = z.looseObject({
  id: z.string().min(1).max(256),
  name: loose(z.string()),
  display_name: loose(z.string()),
  type: loose(z.string()),
  model_type: loose(z.string()),
  architecture: loose(
    z.looseObject({ input_modalities: names, output_modalities: names, modality: loose(z.string()) }),
  ),
  input_modalities: names,
  output_modalities: names,
  context_length: count,
  context_window: count,
  max_context_length: count,
  max_model_len: count,
  max_completion_tokens: count,
  max_output_tokens: count,
  max_output_length: count,
  top_provider: loose(z.looseObject({ context_length: count, max_completion_tokens: count })),
  /** `pricingOf` reads this field. A price that cannot be read must not count as absent. */
  pricing: z.unknown().optional(),
  supported_parameters: names,
  supported_sampling_parameters: names,
  supported_features: names,
  capabilities: loose(z.record(z.string(), z.unknown())),
  reasoning: loose(
    z.looseObject({
      supported_efforts: z.array(z.string().nullable()).nullish().catch(undefined),
      mandatory: loose(z.boolean()),
    }),
  ),
});
export type ListEntry = z.infer<typeof entrySchema>;

/** The entries of a list of models, and how many had no id. Undefined if the input is not such a list. */
export function readList(list: unknown): { readonly entries: ListEntry[]; readonly nameless: number } | undefined {
  const wrapped = z.looseObject({ data: z.array(z.unknown()) }).safeParse(list);
  const items = wrapped.success ? wrapped.data.data : Array.isArray(list) ? list : undefined;
  if (items === undefined) return undefined;
  const entries = items.flatMap((item) => {
    const read = entrySchema.safeParse(item);
    return read.success ? [read.data] : [];
  });
  return { entries, nameless: items.length - entries.length };
}
