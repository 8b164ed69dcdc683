import { createHmac, timingSafeEqual } from 'node:crypto';

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

/** The value that was signed for this purpose; undefined where the MAC is wrong or the text is no JSON. */
export function verify(key: Buffer, purpose: string, { payload, mac }: Signed): unknown {
  const given = Buffer.from(mac, 'base64url');
  const expected = macOf(key, purpose, payload);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}

const macOf = (key: Buffer, purpose: string, payload: string): Buffer =>
  createHmac('sha256', key).update(`${purpose}\0${payload}`).digest();
