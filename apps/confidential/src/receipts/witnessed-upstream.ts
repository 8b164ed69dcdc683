import type { Upstream, UpstreamHandler } from '@sotto/providers';

/** Sees the bytes of one exchange with a provider, as they leave and as they come. */
interface Witness {
  forwarded(body: string | Uint8Array): void;
  answered(bytes: Buffer): void;
  /** The body never left, because the connection was not the enclave's. */
  unsent(): void;
}

/** Returns an upstream whose exchanges are shown to a witness. */
export function witnessedUpstream(upstream: Upstream, witness: Witness): Upstream {
  return {
    ...upstream,
    call(request, handler) {
      witness.forwarded(request.body);
      const witnessed: UpstreamHandler = {
        onResponse: (status, headers) => handler.onResponse(status, headers),
        onBytes(bytes) {
          witness.answered(bytes);
          handler.onBytes(bytes);
        },
        onEnd: () => handler.onEnd(),
        onFailure(outcome) {
          if (outcome === 'attestation_failed') witness.unsent();
          handler.onFailure(outcome);
        },
      };
      return upstream.call(request, witnessed);
    },
  };
}
