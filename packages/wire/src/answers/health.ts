import * as z from 'zod';

/** Answer of `GET /healthz`: the process lives. */
export const healthAnswerSchema = z.strictObject({ status: z.literal('ok') });

/** Answer of `GET /readyz`: whether it can serve. */
export const readinessAnswerSchema = z.strictObject({ status: z.enum(['ready', 'not_ready']) });
