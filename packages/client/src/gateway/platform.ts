import type { ExportedChannel } from '@sotto/attestation';
import { parseJson } from '@sotto/wire';
import type { ConfidentialPath } from '../service-paths.ts';

/** A gateway's evidence as read. Nothing in it is trusted before the verification. */
export interface EvidenceReading {
  /** The parsed answer of `GET /v1/gateway/attestation`; undefined if there was none. */
  readonly document: unknown;
  /** Why there is no document, in the client's own words. */
  readonly absence?: string;
  /** DER of the SubjectPublicKeyInfo that this connection proved. Undefined without TLS, or if the platform hides it. */
  readonly tlsSpki?: Uint8Array | undefined;
  /** The export of this connection. Undefined if it was not asked for, without TLS, or if the platform exports nothing. */
  readonly channel?: ExportedChannel | undefined;
  /** The connection that carried it. Undefined if the platform does not show connections. Close it after use. */
  readonly connection?: OriginConnection | undefined;
}

/** A question to a gateway about itself. */
export interface EvidenceAsked {
  /** The client's own fresh nonce: 64 lower-case hex digits. */
  readonly nonce: string;
  /** `channel`: the evidence is to cover the connection that carries it, too, if the gateway can. */
  readonly binding: 'key' | 'channel';
}

/** A POST that carries content, or a GET of what belongs to content that was sent before. */
export type ContentRequest = {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
} & (
  | {
      readonly method?: 'POST';
      /** With its leading `/v1`. */
      readonly path: ConfidentialPath<'POST'>;
      readonly body: string | Uint8Array<ArrayBuffer>;
    }
  | { readonly method: 'GET'; readonly path: ConfidentialPath<'GET'>; readonly body?: undefined }
);

/** An answer whose body has not been read. Read it once, through `body` or `toResponse`. */
export interface ContentAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body as it arrives, for callers that do not need a `Response`. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole answer as `fetch` returns it. */
  toResponse(): Response;
}

/** Connections to the confidential origin that may carry content. */
export interface ContentChannel {
  /**
   * Sends one request, once. It does not follow redirects, and adds no header that could tell users apart. Throws a
   * `ClientError` only if none of the content can have left. After any other error, content may have left.
   */
  send(request: ContentRequest): Promise<ContentAnswer>;
  /** Takes no more requests. Running requests may end. */
  close(): void;
}

/** One connection to a confidential origin, after it carried the evidence about itself. It never connects again. */
export interface OriginConnection {
  readonly isOpen: boolean;
  /** As `ContentChannel`. Send one request at a time. `onFree` is called when the connection could take the next one. */
  send(request: ContentRequest, onFree: () => void): Promise<ContentAnswer>;
  /** Closes it at once, also if a request runs. */
  close(): void;
}

/** The connection of one kind of runtime to the confidential origin. */
export interface Platform {
  /**
   * Whether the platform shows the TLS key of a connection. If so, connections to keys that were not verified are
   * refused.
   */
  readonly seesTlsKeys: boolean;
  /** The `fetch` that reaches the control origin, if it is not the global one. */
  readonly controlFetch?: typeof fetch;
  /** Throws `option_invalid` for an origin that a relay would reach without TLS. */
  requireReachable?(origin: string): void;
  readEvidence(origin: string, asked: EvidenceAsked, signal: AbortSignal): Promise<EvidenceReading>;
  /** @param spkiSha256 - the keys that a connection may prove, SHA-256 of SPKI in hex; undefined without TLS. */
  openChannel(origin: string, spkiSha256: ReadonlySet<string> | undefined): ContentChannel;
}

/** The path where a broker returns evidence about itself. */
const evidencePath = '/v1/gateway/attestation' satisfies ConfidentialPath<'GET'>;

/** The path and query of a request for evidence. */
export const evidenceTarget = ({ nonce, binding }: EvidenceAsked): string =>
  `${evidencePath}?nonce=${nonce}${binding === 'channel' ? '&binding=channel' : ''}`;

/** Reads an answer of `GET /v1/gateway/attestation`. Returns the reason if it does not hold evidence. */
export function parseEvidence(status: number, text: string): Pick<EvidenceReading, 'document' | 'absence'> {
  // The verifier rejects invalid JSON. An absent answer is only `unavailable`.
  if (status === 200) return { document: parseJson(text) ?? null };
  return { document: undefined, absence: absences[status] ?? `The service answered with status ${status}.` };
}

const absences: Readonly<Record<number, string>> = {
  404: 'The service offers no attestation.',
  429: 'The service received too many requests for evidence. Retry in a minute.',
  503: 'The service cannot produce evidence now. Retry shortly.',
};
