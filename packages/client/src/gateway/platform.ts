/** What was read of a gateway's evidence: as good as the verification that follows. */
export interface EvidenceReading {
  /** The parsed answer of `GET /v1/gateway/attestation`; undefined where there was none. */
  readonly document: unknown;
  /** Why there is no document: a sentence of our own. */
  readonly absence?: string;
  /** DER of the SubjectPublicKeyInfo that the very connection proved; undefined where it cannot be seen, or without TLS. */
  readonly tlsSpki?: Uint8Array | undefined;
}

/** A request that carries content. */
export interface ContentRequest {
  /** With its leading `/v1`. */
  readonly path: string;
  readonly method: 'POST' | 'GET';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
  readonly signal: AbortSignal | undefined;
}

/** An answer whose body has not been read: by one of its two doors, once. */
export interface ContentAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body as it comes, where no `Response` is needed. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole, as `fetch` gives it. */
  toResponse(): Response;
}

/** Connections to the confidential origin that content may go over. */
export interface ContentChannel {
  /**
   * Sends one request, once; redirects are not followed, and nothing is added to the headers that could tell users apart.
   * Throws a `ClientError` exactly where nothing of the content can have left; any other error leaves that open.
   */
  send(request: ContentRequest): Promise<ContentAnswer>;
  /** Takes no more requests; those that run may end. */
  close(): void;
}

/** How one kind of runtime talks to the confidential origin. */
export interface Platform {
  /** Whether the TLS key of a connection can be seen: then connections to other keys than the verified are refused. */
  readonly seesTlsKeys: boolean;
  readEvidence(origin: string, nonce: string, signal?: AbortSignal): Promise<EvidenceReading>;
  /** @param spkiSha256 - the keys that a connection may prove, SHA-256 of SPKI in hex; undefined without TLS. */
  openChannel(origin: string, spkiSha256: ReadonlySet<string> | undefined): ContentChannel;
}
