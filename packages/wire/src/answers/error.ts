import * as z from 'zod';

/** Body of every error answer: the four fields of OpenAI's errors, and an id for support requests. */
export const errorAnswerSchema = z
  .strictObject({
    error: z.strictObject({
      message: z.string().min(1).describe('Says what failed and how to fix it.'),
      type: z.string().min(1).describe('The machine-readable name of the error.'),
      code: z
        .string()
        .min(1)
        .describe('The same as `type`, for OpenAI clients. `context_length_exceeded` if the conversation is too long.'),
      param: z.string().nullable().describe('The field at fault, or null.'),
      request_id: z.string().min(1).describe('The id of this request. Name it when you report a problem.'),
    }),
  })
  .describe('The body of every error.');
