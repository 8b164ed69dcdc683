import { fromBase64 } from '../bytes/encodings.ts';
import type { TrustAnchor } from './chain.ts';

/** A root as it is written down in this package: DER in base64. */
export function pinnedAnchor(pin: { name: string; subject: string; spki: string }): TrustAnchor {
  return {
    name: pin.name,
    subject: fromBase64(pin.subject, pin.name),
    spki: fromBase64(pin.spki, pin.name),
  };
}
