import type { KeyKind } from '@sotto/state';
import type { Preferences } from '@sotto/wire';

/** A key that was presented and found, by itself or through an access token. */
export interface PresentedKey {
  readonly keyId: string;
  readonly keyHash: string;
  readonly kind: KeyKind;
  readonly accountId: string;
  readonly workspaceId: string;
  readonly walletId: string;
  readonly generation: number;
  readonly preferences: Preferences;
}
