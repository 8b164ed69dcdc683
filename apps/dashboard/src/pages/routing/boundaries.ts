import type { Boundary, PrivacyClass } from '@sotto/wire';
import { tiers } from '../../ui/badge.tsx';

/** The weakest tier that each boundary lets in (design 6), weakest first. */
export const boundaryTier: Readonly<Record<Boundary, PrivacyClass>> = {
  Standard: 'anonymous',
  Private: 'private',
  Maximum: 'tee',
};

const strength: Readonly<Record<PrivacyClass, number>> = { anonymous: 0, private: 1, tee: 2, e2ee: 3 };

/** Whether a tier is weaker than another. */
export const isWeaker = (tier: PrivacyClass, than: PrivacyClass): boolean => strength[tier] < strength[than];

/** Whether a boundary lets in tiers that another keeps out. */
export const isWeakerBoundary = (boundary: Boundary, than: Boundary): boolean =>
  isWeaker(boundaryTier[boundary], boundaryTier[than]);

export const tierName = (tier: PrivacyClass): string => tiers[tier].name;
