import { randomBytes } from 'node:crypto';
import type { Provenance } from '@sotto/attestation';
import type { EvidenceProducer } from '@sotto/attestation/producers';
import { AddressLimit, type Repeated, repeat } from '@sotto/server';
import type { BrokerEvents } from '../events.ts';
import type { NamedTlsKeys } from '../tls/tls-keeper.ts';
import type { AttestationRouteDependencies } from './attestation-route.ts';
import { GatewayAttestation } from './gateway-attestation.ts';
import { KeySetKeeper, type ReceiptKey } from './key-set-keeper.ts';

/** How a broker attests itself. */
export interface GatewayOptions {
  /** The public address of this broker, without a path. */
  readonly origin: string;
  readonly producer: EvidenceProducer;
  /** The keys that connections meet; undefined if none was made here. */
  readonly tlsKeys: (() => NamedTlsKeys) | undefined;
  readonly provenance?: Provenance | undefined;
}

export interface Gateway {
  readonly route: AttestationRouteDependencies;
  /** Tries once, right after the start, whether the machine gives evidence. Then keeps the vendors' documents fresh. */
  readonly upkeep: Repeated;
}

const resendMs = 60_000;
/**
 * Per address, for evidence that is bound to no connection, and for more than one on a connection. Many users may share
 * the exit of a relay, and each client verifies about once in ten minutes. The machine is protected by its queue: it makes
 * one quote at a time.
 */
const attestationsPerMinute = 300;
const maxAddresses = 10_000;

/** Builds the attestation of a broker with one registry and one receipt key. */
export function buildGateway(
  { origin, producer, tlsKeys, provenance }: GatewayOptions,
  broker: {
    readonly registryDigest: string;
    readonly receiptKey: ReceiptKey['named'];
    readonly events: BrokerEvents;
    readonly now: () => number;
  },
): Gateway {
  const { registryDigest, receiptKey, events, now } = broker;
  const attestation = new GatewayAttestation({
    producer,
    keySets: new KeySetKeeper({ origin, tlsKeys, receiptKey, registryDigest, now }),
    origin,
    provenance,
    onFailed: events.attestationFailed,
  });
  let hasTried = false;
  return {
    route: { attestation, limit: new AddressLimit({ perMinute: attestationsPerMinute, maxAddresses, now }) },
    upkeep: repeat(resendMs, async () => {
      // The first evidence also tells which of the vendors' documents this machine needs.
      if (!hasTried) await attestation.evidenceFor(randomBytes(32).toString('hex')).catch(() => {});
      hasTried = true;
      await producer.refresh();
    }),
  };
}
