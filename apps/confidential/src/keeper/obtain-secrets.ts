import type { KeySet } from '@sotto/attestation';
import { EvidenceError, type EvidenceProducer } from '@sotto/attestation/producers';
import { z } from 'zod';
import type { BrokerEvents } from '../events.ts';
import { makeEvidence } from '../gateway/make-evidence.ts';
import { makeTlsKey } from '../tls/tls-key.ts';
import { askKeeper, KeeperError } from './ask-keeper.ts';

export interface SecretsQuestion {
  /** The keeper's address, which evidence for it names. */
  readonly origin: string;
  /** Authorities that its certificate may be of, as PEM. */
  readonly ca: string;
  readonly producer: EvidenceProducer;
  /** The names of the secrets that may be released: whoever runs the keeper sets nothing else of this broker. */
  readonly names: ReadonlySet<string>;
  /** SHA-256 of the provider registry in hex. */
  readonly registryDigest: string;
  readonly events: Pick<BrokerEvents, 'secretsAwaited' | 'secretsReleased'>;
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

const nonceSchema = z.object({ nonce: z.string().regex(/^[0-9a-f]{64}$/) });
const secretsSchema = z.object({ secrets: z.record(z.string(), z.string().min(1)), time: z.int() });

/** How long the key that is proved to the keeper is good: for one question. */
const keyLifeMs = 10 * 60_000;
/** By how much this machine's clock, which is the host's to set, may differ from the keeper's. */
const clockToleranceMs = 5 * 60_000;
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/**
 * Asks the keeper for secrets until it releases them: by evidence in which this machine's hardware signs the keeper's nonce and
 * the TLS key that the connection is made with. The key is made here, for one question, and never leaves.
 */
export async function obtainSecrets(question: SecretsQuestion): Promise<Readonly<Record<string, string>>> {
  const { events, wait } = question;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      const secrets = await ask(question);
      events.secretsReleased({ secrets: Object.keys(secrets).length });
      return secrets;
    } catch (error) {
      events.secretsAwaited({ reason: reasonOf(error) });
      await wait(waitMs);
    }
  }
}

async function ask(question: SecretsQuestion): Promise<Readonly<Record<string, string>>> {
  const { origin, ca, producer, registryDigest, now } = question;
  const until = now() + keyLifeMs;
  const key = await makeTlsKey(new URL(origin).hostname, { from: now() - keyLifeMs, until });
  const connection = { origin, ca, key: key.keyPem, cert: key.certificatePem };
  const { nonce } = await askKeeper(connection, '/v1/nonces', {}, nonceSchema);
  const keySet: KeySet = {
    service: 'sotto',
    not_after: Math.floor(until / 1000),
    provider_registry_digest: `sha256:${registryDigest}`,
    tls_public_keys: [{ origin, spki_sha256: key.spkiSha256 }],
    receipt_signing_keys: [],
    e2ee_public_keys: [],
  };
  const evidence = await makeEvidence(producer, { audience: 'keeper', keySet, nonce, origin });
  const { secrets, time } = await askKeeper(connection, '/v1/secrets', { nonce, evidence }, secretsSchema);
  const unwanted = Object.keys(secrets).find((name) => !question.names.has(name));
  if (unwanted !== undefined)
    throw new KeeperError(`it releases \`${unwanted.slice(0, 64)}\`, which is no secret of this broker's`);
  const aheadMs = now() - time;
  if (Math.abs(aheadMs) > clockToleranceMs) {
    throw new KeeperError(
      `its clock differs from this machine's by ${Math.round(aheadMs / 1000)} s: one of them is wrong`,
    );
  }
  return secrets;
}

function reasonOf(error: unknown): string {
  if (error instanceof KeeperError) return `keeper: ${error.message}`;
  if (error instanceof EvidenceError) return `evidence: ${error.code}`;
  return `unexpected: ${error instanceof Error ? error.name : 'error'}`;
}
