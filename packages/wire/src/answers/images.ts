import * as z from 'zod';

/** Body of an answer of `POST /images/generations` (interface 2.5). */
export const imagesAnswerSchema = z.strictObject({
  created: z.int(),
  model: z.string(),
  data: z.array(z.strictObject({ b64_json: z.base64(), mime_type: z.string().regex(/^image\//) })),
});
export type ImagesAnswer = z.infer<typeof imagesAnswerSchema>;

/**
 * The JSON of an answer with one image around its base64, which is megabytes and is written between the two as it is.
 * `created` is in Unix seconds.
 */
export function imagesAnswerAround(answer: {
  readonly created: number;
  readonly model: string;
  readonly mimeType: string;
}): { readonly head: string; readonly tail: string } {
  const { created, model, mimeType } = answer;
  return {
    head: `{"created":${created},"model":${JSON.stringify(model)},"data":[{"b64_json":"`,
    tail: `","mime_type":${JSON.stringify(mimeType)}}]}`,
  };
}
