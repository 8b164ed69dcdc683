import { randomBytes } from 'node:crypto';
import type { ProviderVerification } from '@sotto/attestation';
import { attestedPool, NoEvidence, openUpstream } from '@sotto/providers';
import type { Route } from '@sotto/router';
import type { BrokerEvents } from '../events.ts';
import type { CallableProvider } from '../providers/provider-set.ts';
import type { Enclaves, Reached, VerificationEngine } from './enclaves.ts';
import { obtainEvidence } from './obtain-evidence.ts';
import type { ProviderDocuments } from './provider-documents.ts';

export interface TeeSessionsDependencies {
  readonly engine: VerificationEngine;
  readonly documents: Pick<ProviderDocuments, 'of'>;
  readonly events: Pick<BrokerEvents, 'enclaveRefused' | 'enclaveUnknown'>;
  readonly now: () => number;
}

interface Session extends Reached {
  /** From this time on, the session is renewed in the background when it is used. */
  readonly renewAt: number;
  readonly trust: Trust;
}

/**
 * Decides about connections until they have shown their key. When a session ends, connections that are still being
 * opened fail with it.
 */
interface Trust {
  /** The TLS keys that were attested. */
  readonly keys: ReadonlySet<string>;
  until: number;
}

interface Place {
  session: Session | undefined;
  opening: Promise<Reached | undefined> | undefined;
  /** After a failure, the enclave is not verified again before this time. */
  nextTryAt: number;
}

const renewAfter = 0.7;
const retryMs = 1_000;

/**
 * The verified enclaves behind `tee` routes, one per route. Each is verified by evidence for a nonce of ours and
 * reached over connections that show the attested TLS key. It is used no longer than its evidence is valid. Fails
 * closed.
 */
export class TeeSessions implements Enclaves {
  readonly #deps: TeeSessionsDependencies;
  readonly #places = new Map<string, Place>();

  constructor(deps: TeeSessionsDependencies) {
    this.#deps = deps;
  }

  current(route: Route, provider: CallableProvider): Reached | undefined {
    const session = this.#places.get(keyOf(route))?.session;
    const now = this.#deps.now();
    if (session === undefined || session.trust.until <= now) return undefined;
    if (session.renewAt <= now) void this.open(route, provider);
    return session;
  }

  open(route: Route, provider: CallableProvider): Promise<Reached | undefined> {
    this.#forgetEnded();
    const key = keyOf(route);
    const place = this.#places.get(key) ?? { session: undefined, opening: undefined, nextTryAt: 0 };
    this.#places.set(key, place);
    if (place.opening !== undefined) return place.opening;
    const waitMs = place.nextTryAt - this.#deps.now();
    // If the wait is longer than any, the clock was set back.
    if (waitMs > 0 && waitMs <= retryMs) return Promise.resolve(undefined);
    place.opening = this.#verify(route, provider, place).finally(() => {
      place.opening = undefined;
    });
    return place.opening;
  }

  get size(): number {
    const now = this.#deps.now();
    let count = 0;
    for (const { session } of this.#places.values()) if (session !== undefined && session.trust.until > now) count += 1;
    return count;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#places.values()].map(({ session }) => session?.upstream.close()));
  }

  async #verify(route: Route, provider: CallableProvider, place: Place): Promise<Reached | undefined> {
    const { events, now } = this.#deps;
    let found: ProviderVerification;
    try {
      found = await this.#attest(route, provider);
    } catch (error) {
      // Nothing was learned, so a valid session stays until its evidence ends.
      place.nextTryAt = now() + retryMs;
      const reason = error instanceof NoEvidence ? error.message : 'it could not be verified';
      events.enclaveUnknown({ route: route.id, reason });
      return undefined;
    }
    const { isCurrent, sessionId, expiresAtMs, tlsSpkiSha256 } = found;
    if (!isCurrent || sessionId === undefined || tlsSpkiSha256.length === 0 || expiresAtMs <= now()) {
      place.nextTryAt = now() + retryMs;
      if (place.session !== undefined) end(place.session);
      place.session = undefined;
      events.enclaveRefused({ route: route.id, verdict: found.verdict, checks: unpassed(found) });
      return undefined;
    }
    const reached = this.#reach(provider, place.session, new Set(tlsSpkiSha256));
    reached.trust.until = expiresAtMs;
    const renewAt = now() + (expiresAtMs - now()) * renewAfter;
    place.session = { ...reached, sessionId, renewAt };
    return place.session;
  }

  async #attest(route: Route, provider: CallableProvider): Promise<ProviderVerification> {
    const { engine, documents, now } = this.#deps;
    const { attestation } = provider.entry;
    if (attestation === undefined) throw new NoEvidence('the registry names no family');
    const { family, measurements, platforms } = attestation;
    const nonce = randomBytes(32).toString('hex');
    const attested = {
      provider: route.publicProviderId,
      model: route.modelId,
      upstream_model: route.upstreamModel,
      privacy_class: 'tee',
      family,
    } as const;
    const document = await obtainEvidence(attested, { ...documents.of(provider, 'sessions'), nonce, now: now() });
    return engine.verifyProvider(document, {
      nonce,
      provider: attested.provider,
      model: attested.model,
      privacyClass: 'tee',
      family,
      upstreamModel: route.upstreamModel,
      pins: { measurements, platforms },
      now: new Date(now()),
      toleranceMs: 0,
    });
  }

  /**
   * Keeps the connections if the same keys were attested again. Otherwise they close when the calls on them have ended.
   */
  #reach(
    { entry, headers }: CallableProvider,
    session: Session | undefined,
    keys: ReadonlySet<string>,
  ): Pick<Session, 'upstream' | 'trust'> {
    if (session !== undefined && areSame(session.trust.keys, keys)) return session;
    if (session !== undefined) end(session);
    const { engine, now } = this.#deps;
    const trust: Trust = { keys, until: 0 };
    const isAttested = (spki: string): boolean => now() < trust.until && keys.has(spki);
    const makePool = attestedPool({ isAttested, ca: engine.ca });
    const connectTimeoutMs = entry.timeouts.connect_ms;
    return { trust, upstream: openUpstream({ baseUrl: entry.base_url, headers, connectTimeoutMs }, makePool) };
  }

  #forgetEnded(): void {
    const now = this.#deps.now();
    for (const [key, { session, opening }] of this.#places) {
      if (opening !== undefined || session === undefined || session.trust.until > now) continue;
      end(session);
      this.#places.delete(key);
    }
  }
}

const areSame = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && [...one].every((key) => other.has(key));

function end({ upstream, trust }: Session): void {
  trust.until = 0;
  upstream.retire();
}

const keyOf = ({ id, upstreamModel }: Route): string => `${id}|${upstreamModel}`;

const unpassed = ({ checks }: ProviderVerification) =>
  checks.flatMap((check) => (check.outcome === 'passed' ? [] : [{ name: check.name, reason: check.reason }]));
