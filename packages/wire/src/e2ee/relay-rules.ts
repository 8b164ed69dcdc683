/** Provider families by the evidence that they give (design 6); the enclaves of each take end-to-end-encrypted chat. */
export const e2eeFamilies = ['near', 'phala', 'venice', 'tinfoil', 'chutes'] as const;
export type E2eeFamilyName = (typeof e2eeFamilies)[number];

/** One way in which a family's requests are sealed, recognised by its headers. */
export interface RelayVariant {
  /** Headers to pass on byte for byte, all of them there, each of the one form in which it can hold no content. */
  readonly requestHeaders: Readonly<Record<string, RegExp>>;
  /** Bytes that sealing adds to each field; undefined where the body is sealed as a whole. */
  readonly fieldOverheadBytes: number | undefined;
}

/** How a relay that holds no key passes the requests of one family on. It sends these headers and nothing else of the client's. */
export interface RelayRule {
  /** Appended to the provider's base address. */
  readonly path: string;
  readonly contentType: 'application/json' | 'application/octet-stream';
  readonly variants: readonly RelayVariant[];
  /** Headers of the answer to pass back byte for byte, beside its content type. */
  readonly responseHeaders: readonly string[];
  /**
   * What the length of a ciphertext is good for. `fields`: the plaintext's length, field by field. `frames`: the length of
   * the plaintext body, its JSON and event framing included. `none`: it was packed, and is charged flat.
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

/** What the relay does per family: the wire formats that `packages/client/src/e2ee` speaks. */
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
    // What the enclave reads once the body is open; on the way it is frames of ciphertext.
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
      /** Names and values in turn, as undici takes them. */
      readonly headers: readonly string[];
    }
  | { readonly ok: false; readonly header: string };

/**
 * Picks the headers of a sealed request that go to the provider, given the request's. Where no variant of the family fits,
 * names the header that is missing or malformed in the one that comes closest.
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
