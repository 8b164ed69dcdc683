import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Keys, withAnyKey } from './keys.ts';

/** A text with its writer's MAC: whoever writes to Redis cannot write these. */
export interface Signed {
  readonly payload: string;
  readonly mac: string;
}

/** Signs a value as JSON for one purpose. */
export function sign(key: Buffer, purpose: string, value: unknown): Signed {
  const payload = JSON.stringify(value);
  return { payload, mac: macOf(key, purpose, payload).toString('base64url') };
}

/** The value that was signed for this purpose by one of these keys; undefined where none did, or the text is no JSON. */
export function verify(keys: Keys, purpose: string, { payload, mac }: Signed): unknown {
  const given = Buffer.from(mac, 'base64url');
  const isOf = (key: Buffer): true | undefined => {
    const expected = macOf(key, purpose, payload);
    return (given.length === expected.length && timingSafeEqual(given, expected)) || undefined;
  };
  if (withAnyKey(keys, isOf) === undefined) return undefined;
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}

const macOf = (key: Buffer, purpose: string, payload: string): Buffer =>
  createHmac('sha256', key).update(`${purpose}\0${payload}`).digest();
