import { X509Certificate } from 'node:crypto';
import type { TlsKey, Validity } from './tls-key.ts';

export interface TlsKeeperDependencies {
  readonly now: () => number;
  /** Makes a key whose own certificate is valid in this time. */
  readonly makeKey: (validity: Validity) => Promise<TlsKey>;
  /** Where an outside authority finds our requests and leaves its certificates. Undefined: the key signs its own. */
  readonly authority?: CertificateExchange | undefined;
  /** Whether `makeKey` always returns the same key, which then is not replaced. */
  readonly isKept?: boolean | undefined;
}

/** The connection to an authority. Only public data passes through it. */
export interface CertificateExchange {
  writeRequest(requestPem: string): Promise<void>;
  /** Returns the newest certificate and its chain, as PEM, once there is one. */
  readCertificate(): Promise<string | undefined>;
}

const dayMs = 86_400_000;
/** How long a key is served, how long before that attestation names it, and by how much clocks may differ. */
const times = { servedMs: 30 * dayMs, announcedMs: dayMs, slackMs: dayMs } as const;

/** The keys that a connection may meet until `until` (Unix ms), each as SHA-256 of its SPKI in lower-case hex. */
export interface NamedTlsKeys {
  readonly spkiSha256: readonly string[];
  readonly until: number;
}

interface Served {
  readonly key: TlsKey;
  readonly certificatePem: string;
  /** When the next key is to take over. */
  readonly until: number;
}

/**
 * The keys that the broker serves TLS with. They are made here and changed while the broker runs. The next key is named
 * for a day before it is served. So a client that has verified the key set meets no key outside of it.
 */
export class TlsKeeper {
  readonly #deps: TlsKeeperDependencies;
  #served: Served;
  #next: { readonly key: TlsKey; readonly announcedAt: number } | undefined;

  private constructor(deps: TlsKeeperDependencies, served: Served) {
    this.#deps = deps;
    this.#served = served;
  }

  static async start(deps: TlsKeeperDependencies): Promise<TlsKeeper> {
    const key = await makeKey(deps);
    await deps.authority?.writeRequest(key.requestPem);
    return new TlsKeeper(deps, { key, certificatePem: key.certificatePem, until: deps.now() + times.servedMs });
  }

  get served(): { readonly key: string; readonly cert: string } {
    return { key: this.#served.key.keyPem, cert: this.#served.certificatePem };
  }

  /** Whether an authority has not certified the key that is served. */
  get awaitsCertificate(): boolean {
    return this.#deps.authority !== undefined && this.#served.certificatePem === this.#served.key.certificatePem;
  }

  get named(): NamedTlsKeys {
    const keys = [this.#served.key, ...(this.#next === undefined ? [] : [this.#next.key])];
    // A key that is made later is announced before it is served, so the set holds until then.
    const planned = this.#next === undefined ? this.#served.until : this.#next.announcedAt + times.servedMs;
    // A key may wait long for its certificate. Even then the set holds for a day, because a further key is announced
    // first.
    const until = Math.max(planned, this.#deps.now() + times.announcedMs);
    return { spkiSha256: keys.map(({ spkiSha256 }) => spkiSha256), until };
  }

  /** Does what is due. May change `served` even if it rejects. */
  async refresh(): Promise<void> {
    const { now, authority, isKept = false } = this.#deps;
    const certificate = await authority?.readCertificate();
    const signed = (key: TlsKey): string | undefined =>
      certificate !== undefined && isFor(key, certificate, now()) ? certificate : undefined;
    const own = signed(this.#served.key);
    if (own !== undefined) this.#served = { ...this.#served, certificatePem: own };
    if (!isKept && this.#next === undefined && now() >= this.#served.until - times.announcedMs) {
      const key = await makeKey(this.#deps);
      // A key whose request was not written would never get a certificate.
      await authority?.writeRequest(key.requestPem);
      this.#next = { key, announcedAt: now() };
    }
    if (this.#next !== undefined && now() >= this.#next.announcedAt + times.announcedMs) {
      const { key } = this.#next;
      // With an authority, the old certificate is served until the new one is there.
      const certificatePem = authority === undefined ? key.certificatePem : signed(key);
      if (certificatePem !== undefined) {
        this.#served = { key, certificatePem, until: now() + times.servedMs };
        this.#next = undefined;
      }
    }
  }
}

const makeKey = ({ now, makeKey: make }: TlsKeeperDependencies): Promise<TlsKey> =>
  make({
    from: now() - times.slackMs,
    until: now() + times.announcedMs + times.servedMs + times.slackMs,
  });

/** Whether a certificate is for this key and valid now. */
function isFor(key: TlsKey, pem: string, now: number): boolean {
  try {
    const certificate = new X509Certificate(pem);
    const ours = new X509Certificate(key.certificatePem).publicKey;
    return (
      certificate.publicKey.equals(ours) &&
      Date.parse(certificate.validFrom) <= now &&
      now < Date.parse(certificate.validTo)
    );
  } catch {
    return false;
  }
}
