import trustedRoot from './trusted-root.json' with { type: 'json' };

/**
 * Sigstore's public instance: the authorities and logs that may sign a release. It is `trusted_root.json` of
 * `@sigstore/tuf` 5.0.1, which Sigstore signed. A test compares them.
 */
export const shippedTrustedRoot: unknown = trustedRoot;

/** The day on which Sigstore published that package. */
export const trustedRootDate = '2026-11-05';
