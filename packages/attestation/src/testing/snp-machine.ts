import { type Bytes, concatBytes, fromHex, toBase64 } from '../bytes.ts';
import type { SnpProduct } from '../pinned-roots.ts';
import type { AmdAnchors, SnpEvidence } from '../snp/verify-snp.ts';
import { integer, text } from './der-writer.ts';
import { extension, Issuer, littleEndian } from './issuer.ts';

/** The settings of a report that a test may choose. */
export interface SnpSettings {
  readonly version?: number;
  readonly policy?: bigint;
  readonly vmpl?: number;
  readonly signatureAlgorithm?: number;
  readonly signerInfo?: number;
  readonly cpu?: readonly [family: number, model: number];
  readonly chipId?: Bytes;
  readonly reportedTcb?: Bytes;
  readonly committedTcb?: Bytes;
  readonly reportData?: Bytes;
  readonly measurement?: Bytes;
  readonly hostData?: Bytes;
}

const arc = '1.3.6.1.4.1.3704.1';
const lines = {
  milan: { name: 'Milan-B0', cpu: [0x19, 0x01], tcb: Uint8Array.of(4, 0, 0, 0, 0, 0, 24, 219), chip: 64 },
  genoa: { name: 'Genoa', cpu: [0x19, 0x11], tcb: Uint8Array.of(10, 0, 0, 0, 0, 0, 23, 84), chip: 64 },
  turin: { name: 'Turin', cpu: [0x1a, 0x02], tcb: Uint8Array.of(1, 1, 1, 4, 0, 0, 0, 81), chip: 8 },
} as const;

export const intermediateSerial = 65_537;

async function makeAuthorities() {
  const [milan, genoa, turin, ask] = await Promise.all(
    ['ARK-Milan', 'ARK-Genoa', 'ARK-Turin', 'SEV-ASK'].map((name) => Issuer.make(name, 'amd-pss')),
  );
  if (!milan || !genoa || !turin || !ask) throw new Error('four keys were wanted');
  return { roots: { milan, genoa, turin }, ask };
}

/** RSA keys take long to generate, so all platforms of a run share them. */
let authorities: ReturnType<typeof makeAuthorities> | undefined;

/** A SEV-SNP platform under newly made roots. Its lists are valid in January 2026. */
export class SnpMachine {
  readonly anchors: AmdAnchors;
  readonly #product: SnpProduct;
  readonly #root: Issuer;
  readonly #key: Issuer;
  readonly #endorsementKey: Bytes;
  readonly #intermediate: Bytes;

  private constructor(made: {
    product: SnpProduct;
    roots: Record<SnpProduct, Issuer>;
    key: Issuer;
    endorsementKey: Bytes;
    intermediate: Bytes;
  }) {
    this.#product = made.product;
    this.#root = made.roots[made.product];
    this.#key = made.key;
    this.#endorsementKey = made.endorsementKey;
    this.#intermediate = made.intermediate;
    const { milan, genoa, turin } = made.roots;
    this.anchors = { milan: milan.anchor, genoa: genoa.anchor, turin: turin.anchor };
  }

  /** `until`: the ends of the certificates of the chip and of the authority above it. */
  static async make(
    product: SnpProduct,
    certified: SnpProduct = product,
    until: { readonly chip?: string; readonly authority?: string } = {},
  ): Promise<SnpMachine> {
    authorities ??= makeAuthorities();
    const { roots, ask } = await authorities;
    const key = await Issuer.make('SEV-VCEK', 'p384');
    const intermediate = await roots[product].certify({
      subject: ask.name,
      spki: ask.spki,
      authority: true,
      serial: intermediateSerial,
      ...(until.authority && { until: until.authority }),
    });
    const endorsementKey = await ask.certify({
      subject: key.name,
      spki: key.spki,
      extensions: endorsementExtensions(certified),
      ...(until.chip && { until: until.chip }),
    });
    return new SnpMachine({ product, roots, key, endorsementKey, intermediate });
  }

  async evidence(settings: SnpSettings = {}): Promise<SnpEvidence> {
    return {
      report: await this.report(settings),
      endorsementKey: this.#endorsementKey,
      intermediate: this.#intermediate,
      revocationList: await this.#root.revoke(),
    };
  }

  /** Evidence as a document has it. */
  async shown(settings: SnpSettings = {}) {
    const { report, endorsementKey, intermediate, revocationList } = await this.evidence(settings);
    return {
      tee_type: 'sev_snp',
      report: toBase64(report),
      endorsement_key: toBase64(endorsementKey),
      intermediate: toBase64(intermediate),
      revocation_list: toBase64(revocationList ?? new Uint8Array()),
    };
  }

  revocationList(request: { revoked?: readonly number[]; from?: string; until?: string }): Promise<Bytes> {
    return this.#root.revoke(request);
  }

  async report(settings: SnpSettings = {}): Promise<Bytes> {
    const line = lines[this.#product];
    const { version = 3, chipId = chipOf(this.#product), reportedTcb = line.tcb } = settings;
    const [family, model] = settings.cpu ?? line.cpu;
    const signed = concatBytes(
      littleEndian(version, 4),
      littleEndian(1, 4),
      littleEndian(settings.policy ?? 0x3_0000n, 8),
      new Uint8Array(32),
      littleEndian(settings.vmpl ?? 0, 4),
      littleEndian(settings.signatureAlgorithm ?? 1, 4),
      line.tcb,
      new Uint8Array(8),
      littleEndian(settings.signerInfo ?? 0, 4),
      new Uint8Array(4),
      settings.reportData ?? new Uint8Array(64),
      settings.measurement ?? new Uint8Array(48),
      settings.hostData ?? new Uint8Array(32),
      new Uint8Array(48 + 48 + 64),
      reportedTcb,
      Uint8Array.of(family, model),
      new Uint8Array(22),
      chipId,
      settings.committedTcb ?? line.tcb,
      new Uint8Array(0x2a0 - 0x1e8),
    );
    const signature = await this.#key.sign(signed);
    const number = (bigEndian: Bytes) => concatBytes(bigEndian.slice().reverse(), new Uint8Array(24));
    return concatBytes(
      signed,
      number(signature.subarray(0, 48)),
      number(signature.subarray(48)),
      new Uint8Array(512 - 144),
    );
  }
}

/**
 * A certificate table as hosts pass it to their guests: entries of name, offset and length, a zero entry, then the
 * certificates.
 */
export function certificateTable(...rows: readonly (readonly [guid: string, certificate: Uint8Array])[]): Bytes {
  let offset = 24 * (rows.length + 1);
  const heads = rows.map(([guid, { length }]) => {
    const name = fromHex(guid.replaceAll('-', ''), 'the guid');
    const head = concatBytes(name, littleEndian(offset, 4), littleEndian(length, 4));
    offset += length;
    return head;
  });
  return concatBytes(...heads, new Uint8Array(24), ...rows.map(([, certificate]) => certificate));
}

function chipOf(product: SnpProduct): Bytes {
  return new Uint8Array(64).fill(0xc4, 0, lines[product].chip);
}

function endorsementExtensions(product: SnpProduct): Bytes[] {
  const { name, tcb, chip } = lines[product];
  const [b0 = 0, b1 = 0, b2 = 0, b3 = 0, , , b6 = 0, b7 = 0] = tcb;
  const parts = product === 'turin' ? { 9: b0, 1: b1, 2: b2, 3: b3, 8: b7 } : { 1: b0, 2: b1, 3: b6, 8: b7 };
  return [
    extension(`${arc}.2`, text(name, 0x16)),
    ...Object.entries(parts).map(([part, value]) => extension(`${arc}.3.${part}`, integer(value))),
    extension(`${arc}.4`, chipOf(product).subarray(0, chip)),
  ];
}
