import type { DstackIdentity } from './identity.ts';

/**
 * The form of a pinned key provider: its kind and its id in hex, such as `kms:3059…`. Only `none` has no id: whoever runs
 * another provider of the same kind would know the keys.
 */
export const keyProviderForm = /^(?:none:|(?!none:)[a-z-]{1,64}:(?:[0-9a-f]{2})+)$/;
export const keyProviderTakes = 'a kind and an id in lower-case hex, as `kms:04ab…`';

/**
 * The values that decide which keys a dstack machine holds, besides its software. Its KMS derives them, and the key of its
 * disk, from the app id. A host that runs the same software under its own KMS, or under its own app id, can know them.
 */
export const keyNames = ['app_id', 'key_provider'] as const;

/** Returns the name of the value without which a pinned compose hash also accepts a host that knows the keys. */
export const openKeyName = (isPinned: (name: string) => boolean): string | undefined =>
  keyNames.find((name) => !isPinned(name));

export const openKeyProblem = (name: string): string =>
  `\`${name}\` is missing: without it a host that knows the machine's keys is accepted`;

/** The identity of a machine by the names that pins use. */
export const measuredIdentity = (identity: DstackIdentity | undefined) => ({
  compose_hash: identity?.composeHash,
  app_id: identity?.appId,
  key_provider: identity?.keyProvider && `${identity.keyProvider.name}:${identity.keyProvider.id}`,
});
