import { EvidenceError, type EvidenceProducer } from '@sotto/attestation/producers';
import { afterEach, expect, it, vi } from 'vitest';
import { GatewayAttestation } from './gateway-attestation.ts';
import { KeySetKeeper, makeReceiptKey } from './key-set-keeper.ts';

const nonce = 'ab'.repeat(32);
const origin = 'https://broker.example';

function attestation(produce: EvidenceProducer['produce']) {
  const told: object[] = [];
  const keySets = new KeySetKeeper({
    origin,
    tlsKeys: undefined,
    receiptKey: makeReceiptKey().named,
    registryDigest: '00'.repeat(32),
    now: Date.now,
  });
  const producer: EvidenceProducer = {
    kind: 'dstack',
    produce,
    refresh: async () => {},
  };
  const onFailed = (fields: object) => told.push(fields);
  return { told, gateway: new GatewayAttestation({ producer, keySets, origin, provenance: undefined, onFailed }) };
}

afterEach(() => {
  vi.useRealTimers();
});

it('states key set, nonce, origin and purpose, and nothing else', async () => {
  let stated = '';
  const { gateway } = attestation(async (statement) => {
    stated = new TextDecoder().decode(statement);
    return { tee_type: 'tdx', quote: '' };
  });
  const document = await gateway.evidenceFor(nonce);
  expect(document).not.toHaveProperty('provenance');
  expect(JSON.parse(stated)).toEqual({
    keyset_digest: expect.stringMatching(/^sha256:/),
    nonce,
    origin,
    purpose: 'sotto.gateway.report_data.v1',
  });
});

it('answers 503 if the machine gives no evidence, and hides the reason from the client', async () => {
  const { gateway, told } = attestation(async () => {
    throw new EvidenceError('EACCES', 'secret detail');
  });
  const error = await gateway.evidenceFor(nonce).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ type: 'service_unavailable', retryAfterS: 5 });
  expect(String(error)).not.toMatch(/secret|EACCES/);
  expect(told).toEqual([{ producer: 'dstack', code: 'EACCES' }]);
});

it('reports a quote that does not come, once, and lets no caller wait forever', async () => {
  vi.useFakeTimers();
  const { gateway, told } = attestation(() => new Promise(() => {}));
  const asked = Array.from({ length: 12 }, () => gateway.evidenceFor(nonce).catch((thrown: unknown) => thrown));
  await vi.advanceTimersByTimeAsync(20_000);
  for (const error of await Promise.all(asked)) {
    expect(error).toMatchObject({ type: 'service_unavailable', retryAfterS: 2 });
  }
  expect(told).toEqual([{ producer: 'dstack', code: 'slow' }]);
});
