import { ed25519 as curve } from '@noble/curves/ed25519.js';
import { copy } from '../bytes.ts';
import type { KeyAgreement } from './key-agreement.ts';
import { x25519 } from './x25519.ts';

/** X25519 between owners of Ed25519 keys, which are mapped to the Montgomery curve: u = (1 + y) / (1 − y). */
export const ed25519: KeyAgreement = {
  ...x25519,
  async makePublishedKeyPair(random) {
    const seed = random(32);
    const publicKey = copy(curve.getPublicKey(seed));
    const pair = await x25519.load(copy(curve.utils.toMontgomerySecret(seed)));
    seed.fill(0);
    return { ...pair, publicKey };
  },
  fromPublished: (publicKey) => copy(curve.utils.toMontgomery(publicKey)),
};
