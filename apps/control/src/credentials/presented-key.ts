import type { AppScope } from '@sotto/contract/control/app-scopes';
import type { KeyKind } from '@sotto/state';
import type { Preferences } from '@sotto/wire';

/** A key that authenticated a request, directly or through an access token. */
export interface PresentedKey {
  readonly keyId: string;
  /** Names the key in the shared state, whichever of its secrets was shown. */
  readonly keyHash: string;
  readonly kind: KeyKind;
  readonly accountId: string;
  readonly workspaceId: string;
  /** Undefined: it has no tag. */
  readonly tagId: string | undefined;
  readonly walletId: string;
  /** Of the key and of its workspace's preferences: `generationOf`. */
  readonly generation: string;
  readonly preferences: Preferences;
  /** Undefined: all models. */
  readonly allowedModels: readonly string[] | undefined;
  /** The models that the workspace's policy allows, as patterns. Undefined: all. */
  readonly workspaceModels: readonly string[] | undefined;
  readonly isWallet: boolean;
  /**
   * The hash of the secret, if this process remembered the key. Then only the shared state can say whether the key still
   * has this generation and opens with this secret.
   */
  readonly rememberedBy?: string | undefined;
}

/** An app’s access token that authenticated a request. */
export interface PresentedToken {
  /** The scopes that the user granted, the token carries and the app may still request. */
  readonly scopes: ReadonlySet<AppScope>;
  /** The account of the user who granted access. */
  readonly grantedBy: string;
  /** The key of the grant. The token acts as this key. */
  readonly key: PresentedKey;
}
