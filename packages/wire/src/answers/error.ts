import * as z from 'zod';

/** Body of every error answer: the four fields of OpenAI's errors, and an id for support requests. */
export const errorAnswerSchema = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string().min(1),
    code: z.string().min(1),
    param: z.string().nullable(),
    request_id: z.string().min(1),
  }),
});
