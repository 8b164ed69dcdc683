import { gatewayPinsSchema, providerPinsSchema } from '@sotto/attestation';
import { providerIdSchema } from '@sotto/wire';
import * as z from 'zod';
import type { ClientPins } from './client-pins.ts';

const clientPinsSchema = z.strictObject({
  gateway: gatewayPinsSchema,
  providers: z.record(providerIdSchema, providerPinsSchema).optional(),
});

/** Reads a file of pins. Returns a sentence that says what is wrong with it instead, if something is. */
export function readPins(text: string): ClientPins | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not valid JSON';
  }
  const parsed = clientPinsSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue?.path.map(String).join('.') ?? '';
  return `${place === '' ? 'it' : place}: ${issue?.message ?? 'is malformed'}`;
}
