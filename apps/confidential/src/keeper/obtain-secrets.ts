import type { KeySet } from '@sotto/attestation';
import { EvidenceError, type EvidenceProducer } from '@sotto/attestation/producers';
import { postJson } from '@sotto/server';
import { parseJson } from '@sotto/wire';
import * as z from 'zod';
import type { BrokerEvents } from '../events.ts';
import { makeEvidence } from '../gateway/make-evidence.ts';
import { makeTlsKey } from '../tls/tls-key.ts';

export interface SecretsQuestion {
  /** The keeper's address. Evidence for the keeper must name it. */
  readonly origin: string;
  /** Authorities that may have signed its certificate, as PEM. */
  readonly ca: string;
  readonly producer: EvidenceProducer;
  /** Names of the secrets that may be released. The keeper's operator can set nothing else of this broker. */
  readonly names: ReadonlySet<string>;
  /** SHA-256 of the provider registry in hex. */
  readonly registryDigest: string;
  readonly events: Pick<BrokerEvents, 'secretsAwaited' | 'secretsReleased'>;
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

const nonceSchema = z.object({ nonce: z.string().regex(/^[0-9a-f]{64}$/) });
const secretsSchema = z.object({ secrets: z.record(z.string(), z.string().min(1)), time: z.int() });

/** How long the key that is proved to the keeper is valid. It serves one question. */
const keyLifeMs = 10 * 60_000;
/** How much this machine's clock, which its host sets, may differ from the keeper's. */
const clockToleranceMs = 5 * 60_000;
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/**
 * Asks the keeper for secrets until it releases them. The evidence is this machine's hardware signing the keeper's
 * nonce and the TLS key of the connection. The key is made here, for one question, and never leaves.
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
    throw new KeeperError(
      `it releases \`${unwanted.slice(0, 64)}\`, which this broker does not accept; remove it from SECRETS_FILE`,
    );
  const aheadMs = now() - time;
  if (Math.abs(aheadMs) > clockToleranceMs) {
    throw new KeeperError(
      `its clock differs from this machine's by ${Math.round(aheadMs / 1000)} s; correct the wrong one`,
    );
  }
  return secrets;
}

function reasonOf(error: unknown): string {
  if (error instanceof KeeperError) return `keeper: ${error.message}`;
  if (error instanceof EvidenceError) return `evidence: ${error.code}`;
  return `unexpected: ${error instanceof Error ? error.name : 'error'}`;
}

/** Thrown when the keeper cannot be reached or releases nothing. The message is for the operator's log. */
class KeeperError extends Error {}

interface KeeperConnection {
  readonly origin: string;
  /** Authorities that may have signed its certificate, as PEM. */
  readonly ca: string;
  /** The key that this broker proves to have, and a certificate for it, as PEM. */
  readonly key: string;
  readonly cert: string;
}

const limits = { timeoutMs: 30_000, maxBytes: 256 * 1024, minVersion: 'TLSv1.3' } as const;

/** Posts JSON to the keeper and resolves to its answer. Each request proves the key anew. Throws `KeeperError`. */
async function askKeeper<Shape extends z.ZodType>(
  { origin, ...tls }: KeeperConnection,
  path: string,
  body: object,
  shape: Shape,
): Promise<z.infer<Shape>> {
  const posted = await postJson(new URL(path, origin), JSON.stringify(body), { ...limits, ...tls }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new KeeperError(error.code === 'ABORT_ERR' ? 'it did not answer in time' : (error.code ?? error.name));
    },
  );
  const { status } = posted;
  const answer = parseJson(posted.body.toString('utf8'));
  if (status !== 200) {
    const { data } = refusalSchema.safeParse(answer);
    throw new KeeperError(`it answered ${status}${data === undefined ? '' : `: ${data.error.message}`}`);
  }
  const read = shape.safeParse(answer);
  if (!read.success) throw new KeeperError('its answer is malformed');
  return read.data;
}

const refusalSchema = z.object({ error: z.object({ message: z.string().max(1000) }) });
