import { describe, expect, it } from 'vitest';
import { toBase64, toHex } from '../bytes.ts';
import { verifyGateway } from '../index.ts';
import { challenge, hardware, pins, snpDocument, tdxDocument } from '../testing/gateway-documents.ts';
import { failed, reasonOf } from '../testing/outcomes.ts';
import { vectorBytes, vectorCertificate } from '../testing/vectors.ts';
import { type GatewayPins, gatewayPinsSchema } from './pins.ts';
import { type GatewayVerification, verifyGatewayUnder } from './verify-gateway.ts';

const verify = (document: unknown, own: GatewayPins): Promise<GatewayVerification> =>
  verifyGatewayUnder(hardware, document, { ...challenge, pins: own });

const { now } = challenge;
const at = (ms: number) => new Date(now.getTime() + ms).toISOString();
/** The same pins, each with more about it. */
const withEach = (about: object): GatewayPins => {
  const { tdx, sev_snp } = pins;
  return gatewayPinsSchema.parse({
    tdx: { ...tdx, measurements: tdx?.measurements.map((pin) => ({ ...pin, ...about })) },
    sev_snp: { ...sev_snp, measurements: sev_snp?.measurements.map((pin) => ({ ...pin, ...about })) },
  });
};

describe('pins that choose vendors', () => {
  it('accept both by name, and by default', async () => {
    for (const own of [pins, { ...pins, vendors: ['intel', 'amd'] } satisfies GatewayPins]) {
      expect((await verify(await tdxDocument(), own)).verdict).toBe('hardware_verified');
      expect((await verify(await snpDocument(), own)).verdict).toBe('hardware_verified');
    }
  });

  it('drop a broken one by one line, whose machines stay pinned', async () => {
    const withoutIntel: GatewayPins = { ...pins, vendors: ['amd'] };
    const refused = await verify(await tdxDocument(), withoutIntel);
    expect(refused.verdict).toBe('untrusted');
    expect(failed(refused.checks)).toEqual(['gateway.vendor']);
    expect(reasonOf(refused.checks, 'gateway.vendor')).toBe('the hardware is by intel, and the pins accept only amd');
    expect((await verify(await snpDocument(), withoutIntel)).verdict).toBe('hardware_verified');
  });

  it('name at least one that there is', () => {
    expect(gatewayPinsSchema.safeParse({ vendors: [] }).success).toBe(false);
    expect(gatewayPinsSchema.safeParse({ vendors: ['tdx'] }).success).toBe(false);
  });
});

describe('a pin', () => {
  it('says which release a machine runs, and until when it accepts the machine', async () => {
    const own = withEach({ name: 'small', release: '0.2.0', expires_at: at(1) });
    const pin = { name: 'small', release: '0.2.0', expiresAt: at(1) };
    expect((await verify(await tdxDocument(), own)).pin).toEqual(pin);
    expect((await verify(await snpDocument(), own)).pin).toEqual(pin);
    expect(
      (await verify(await tdxDocument({ machine: { mrTd: new Uint8Array(48).fill(7) } }), own)).pin,
    ).toBeUndefined();
  });

  it('accepts its machine until it expires, and then says so', async () => {
    expect((await verify(await tdxDocument(), withEach({ expires_at: at(1) }))).verdict).toBe('hardware_verified');
    for (const document of [await tdxDocument(), await snpDocument()]) {
      const refused = await verify(document, withEach({ expires_at: at(0) }));
      expect(failed(refused.checks)).toEqual(['gateway.measurement']);
      expect(reasonOf(refused.checks, 'gateway.measurement')).toBe(`the pin of this machine expired at ${at(0)}`);
      expect(refused.pin).toBeUndefined();
    }
  });

  it('that expired leaves another of the same machine in force', async () => {
    const old = withEach({ release: '0.1.0', expires_at: at(-1) });
    const { tdx } = withEach({ release: '0.2.0' });
    const both = { tdx: tdx && { ...tdx, measurements: [...(old.tdx?.measurements ?? []), ...tdx.measurements] } };
    expect((await verify(await tdxDocument(), both)).pin).toMatchObject({ release: '0.2.0' });
  });
});

describe('pins of chips', () => {
  // Who stole a hoster's key signs a report of any chip with any id in it. This one is AMD's own example of such a key.
  it('refuse a report that a hoster’s key signed, whatever chip it names', async () => {
    const report = vectorBytes('snp/ar_milan_vlek_report.bin');
    const [endorsement_key, intermediate] = ['ar_milan_vlek.der', 'ar_milan_asvk.der'].map((name) =>
      toBase64(vectorCertificate(`snp/${name}`)),
    );
    const document = await snpDocument({
      ...{ report: toBase64(report), endorsement_key, intermediate, revocation_list: undefined },
    });
    const sev_snp = { ...pins.sev_snp, vmpl: 1, signers: ['vlek'], platforms: [toHex(report.slice(0x1a0, 0x1e0))] };
    const own = gatewayPinsSchema.parse({ sev_snp });
    const { checks } = await verifyGateway(document, {
      ...challenge,
      pins: own,
      now: new Date('2025-06-01T00:00:00Z'),
    });
    expect(failed(checks)).not.toContain('snp.signature');
    expect(reasonOf(checks, 'gateway.platform')).toBe('chips are pinned, and no key of a chip signed the report');
  });
});
