import { gatewayPinsSchema } from '@sotto/attestation';
import { problemOf, providerIdSchema } from '@sotto/wire';
import * as z from 'zod';
import type { ClientPins } from './client-pins.ts';
import { enclavePinsSchema } from './enclave-pins.ts';

const clientPinsSchema = z.strictObject({
  gateway: gatewayPinsSchema,
  providers: z.record(providerIdSchema, enclavePinsSchema).optional(),
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
  return parsed.success ? parsed.data : problemOf(parsed.error, 'it');
}

/** Tells what is wrong with pins that were given as an object. Returns undefined for good ones. */
export function problemOfPins(pins: unknown): string | undefined {
  const parsed = clientPinsSchema.safeParse(pins);
  return parsed.success ? undefined : problemOf(parsed.error, 'it');
}
