import type { Boundary, PrivacyClass } from '@sotto/wire';
import { comparePrivacy } from '@sotto/wire';
import { tiers } from '../../ui/badge.tsx';

/** The weakest tier that each boundary allows. */
export const boundaryTier: Readonly<Record<Boundary, PrivacyClass>> = {
  Standard: 'anonymous',
  Private: 'private',
  Maximum: 'tee',
};

/** Whether a tier is weaker than another. */
export const isWeaker = (tier: PrivacyClass, than: PrivacyClass): boolean => comparePrivacy(tier, than) < 0;

/** Whether a boundary allows tiers that another forbids. */
export const isWeakerBoundary = (boundary: Boundary, than: Boundary): boolean =>
  isWeaker(boundaryTier[boundary], boundaryTier[than]);

export const tierName = (tier: PrivacyClass): string => tiers[tier].name;
