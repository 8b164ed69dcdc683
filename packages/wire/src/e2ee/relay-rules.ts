/** Provider families by their kind of evidence. The enclaves of every family accept end-to-end-encrypted chat. */
export const e2eeFamilies = ['near', 'phala', 'venice', 'tinfoil', 'chutes'] as const;
export type E2eeFamilyName = (typeof e2eeFamilies)[number];

/** One way to encrypt requests for a family, recognised by its headers. */
export interface RelayVariant {
  /** Headers to forward unchanged. All are required, and each has a fixed format that leaves no room for content. */
  readonly requestHeaders: Readonly<Record<string, RegExp>>;
  /** Bytes that encryption adds to each field. Undefined if the body is encrypted as a whole. */
  readonly fieldOverheadBytes: number | undefined;
}

/** How the broker, which holds no key, forwards encrypted requests of one family. It forwards no other headers of the client. */
export interface RelayRule {
  /** Appended to the provider's base address. */
  readonly path: string;
  readonly contentType: 'application/json' | 'application/octet-stream';
  readonly variants: readonly RelayVariant[];
  /** Headers of the answer to return unchanged, with the content type. */
  readonly responseHeaders: readonly string[];
  /**
   * What the broker can charge for by the length of the ciphertext. `fields`: the plaintext length of each field. `frames`: the length of the
   * plaintext body with its JSON and event framing. `none`: nothing, because the body is gzip, and a client may have compressed it. Ours does
   * not, so the length reveals that of its plaintext.
   */
  readonly metering: 'fields' | 'frames' | 'none';
}

const hex = (digits: number): RegExp => new RegExp(`^[0-9a-f]{${digits}}$`);
const seconds = /^[0-9]{10,11}$/;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const xchachaOverhead = 32 + 24 + 16;
const x25519AesOverhead = 32 + 12 + 16;
const secp256k1AesOverhead = 65 + 12 + 16;

const fields = (requestHeaders: Readonly<Record<string, RegExp>>, fieldOverheadBytes: number): RelayVariant => ({
  requestHeaders,
  fieldOverheadBytes,
});
const body = (requestHeaders: Readonly<Record<string, RegExp>>): RelayVariant => ({
  requestHeaders,
  fieldOverheadBytes: undefined,
});

const nearVersion = { 'x-encryption-version': /^2$/, 'x-encrypt-all-fields': /^true$/ };
const phalaBinding = { 'x-e2ee-version': /^2$/, 'x-e2ee-timestamp': seconds };

/** The rule of each family, for the wire formats of `packages/client/src/e2ee`. */
export const relayRules = {
  near: {
    path: '/chat/completions',
    contentType: 'application/json',
    variants: [
      fields(
        { 'x-signing-algo': /^ed25519$/, 'x-client-pub-key': hex(64), 'x-model-pub-key': hex(64), ...nearVersion },
        xchachaOverhead,
      ),
      fields(
        { 'x-signing-algo': /^ecdsa$/, 'x-client-pub-key': hex(130), 'x-model-pub-key': hex(128), ...nearVersion },
        secp256k1AesOverhead,
      ),
    ],
    responseHeaders: [],
    metering: 'fields',
  },
  phala: {
    path: '/chat/completions',
    contentType: 'application/json',
    variants: [
      fields(
        {
          'x-signing-algo': /^ed25519$/,
          'x-client-pub-key': hex(64),
          'x-model-pub-key': hex(64),
          'x-e2ee-nonce': hex(32),
          ...phalaBinding,
        },
        x25519AesOverhead,
      ),
      fields(
        {
          'x-signing-algo': /^ecdsa$/,
          'x-client-pub-key': hex(130),
          'x-model-pub-key': hex(128),
          'x-e2ee-nonce': hex(32),
          ...phalaBinding,
        },
        secp256k1AesOverhead,
      ),
      fields(
        { 'x-client-pub-key': hex(64), 'x-model-pub-key': hex(64), 'x-e2ee-nonce': hex(64), ...phalaBinding },
        x25519AesOverhead,
      ),
      fields(
        { 'x-client-pub-key': hex(130), 'x-model-pub-key': hex(130), 'x-e2ee-nonce': hex(64), ...phalaBinding },
        secp256k1AesOverhead,
      ),
    ],
    responseHeaders: ['x-e2ee-applied', 'x-e2ee-version', 'x-e2ee-algo'],
    metering: 'fields',
  },
  venice: {
    path: '/chat/completions',
    contentType: 'application/json',
    variants: [
      fields(
        {
          'x-venice-tee-client-pub-key': hex(130),
          'x-venice-tee-model-pub-key': hex(130),
          'x-venice-tee-signing-algo': /^ecdsa$/,
        },
        secp256k1AesOverhead,
      ),
    ],
    responseHeaders: [],
    metering: 'fields',
  },
  tinfoil: {
    path: '/chat/completions',
    // The type of the decrypted body. In transit, the body is frames of ciphertext.
    contentType: 'application/json',
    variants: [body({ 'ehbp-encapsulated-key': hex(64) })],
    responseHeaders: ['ehbp-response-nonce'],
    metering: 'frames',
  },
  chutes: {
    path: '/e2e/invoke',
    contentType: 'application/octet-stream',
    variants: [
      body({
        'x-chute-id': uuid,
        'x-instance-id': uuid,
        'x-e2e-nonce': /^[\w.~+/=-]{8,256}$/,
        'x-e2e-stream': /^(?:true|false)$/,
        'x-e2e-path': /^\/v1\/chat\/completions$/,
      }),
    ],
    responseHeaders: [],
    metering: 'none',
  },
} as const satisfies Record<E2eeFamilyName, RelayRule>;

export type RelayHeaders =
  | {
      readonly ok: true;
      readonly variant: RelayVariant;
      /** Names and values alternating, as undici takes them. */
      readonly headers: readonly string[];
    }
  | { readonly ok: false; readonly header: string };

/**
 * Picks the headers of an encrypted request to forward to the provider. If no variant of the family fits, returns the header that
 * is missing or malformed in the closest variant.
 */
export function relayHeaders(
  family: E2eeFamilyName,
  received: (name: string) => string | readonly string[] | undefined,
): RelayHeaders {
  const variants: readonly RelayVariant[] = relayRules[family].variants;
  let nearest: { readonly fitting: number; readonly header: string } | undefined;
  for (const variant of variants) {
    const forms = Object.entries(variant.requestHeaders);
    const misfits = forms.filter(([name, form]) => {
      const value = received(name);
      return typeof value !== 'string' || !form.test(value);
    });
    const [misfit] = misfits;
    if (misfit === undefined) {
      return { ok: true, variant, headers: forms.flatMap(([name]) => [name, String(received(name))]) };
    }
    const fitting = forms.length - misfits.length;
    if (nearest === undefined || fitting > nearest.fitting) nearest = { fitting, header: misfit[0] };
  }
  return { ok: false, header: nearest?.header ?? '' };
}
