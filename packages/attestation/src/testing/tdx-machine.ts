import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, concatBytes, fromHex, toBase64, toHex } from '../bytes.ts';
import type { TdxCollateral } from '../tdx/collateral.ts';
import { der, integer, objectIdentifier, octets, sequence } from './der-writer.ts';
import { extension, Issuer, littleEndian, toPem } from './issuer.ts';

const sgx = '1.2.840.113741.1.13.1';
const fmspc = Uint8Array.of(0x90, 0xc0, 0x6f, 0, 0, 0);

/** The settings of a machine that a test may choose. */
export interface MachineSettings {
  readonly version?: 4 | 5;
  readonly tdAttributes?: bigint;
  readonly xfam?: bigint;
  readonly teeTcbSvn?: readonly number[];
  readonly mrTd?: Bytes;
  readonly mrConfigId?: Bytes;
  readonly rtmrs?: readonly Bytes[];
  readonly reportData?: Bytes;
  readonly mrServiceTd?: Bytes;
  readonly mrSignerSeam?: Bytes;
  readonly seamAttributes?: bigint;
  readonly qeAuthData?: Bytes;
  readonly qeMrSigner?: Bytes;
  readonly qeIsvSvn?: number;
}

/** The settings of Intel's documents that a test may choose. */
export interface CollateralSettings {
  readonly tcbInfo?: Record<string, unknown>;
  readonly qeIdentity?: Record<string, unknown>;
  readonly rootCrl?: { revoked?: readonly number[]; from?: string; until?: string };
  readonly pckCrl?: { revoked?: readonly number[]; from?: string; until?: string };
}

export const serials = { pck: 7, pckAuthority: 8, tcbSigner: 9 } as const;

/**
 * A complete TDX setup under a newly made root. Its quotes and collateral are built like real ones and are valid in
 * January 2026. The published verifier must refuse all of them.
 */
export class TdxMachine {
  readonly root: Issuer;
  readonly #pckAuthority: Issuer;
  readonly #pck: Issuer;
  readonly #tcbSigner: Issuer;
  readonly #attestationKey: Issuer;
  readonly pckChain: string;
  readonly #tcbChain: string;

  private constructor(keys: Record<'root' | 'authority' | 'pck' | 'tcbSigner' | 'key', Issuer>, chains: string[]) {
    this.root = keys.root;
    this.#pckAuthority = keys.authority;
    this.#pck = keys.pck;
    this.#tcbSigner = keys.tcbSigner;
    this.#attestationKey = keys.key;
    [this.pckChain = '', this.#tcbChain = ''] = chains;
  }

  /** `until`: the ends of the certificates, by their names in `serials`. */
  static async make(
    names: { authority?: string; tcbSigner?: string } = {},
    until: { readonly [Name in keyof typeof serials]?: string } = {},
  ): Promise<TdxMachine> {
    const keys = {
      root: await Issuer.make('Test Root'),
      authority: await Issuer.make(names.authority ?? 'Intel SGX PCK Platform CA'),
      pck: await Issuer.make('Intel SGX PCK Certificate'),
      tcbSigner: await Issuer.make(names.tcbSigner ?? 'Intel SGX TCB Signing'),
      key: await Issuer.make('the attestation key'),
    };
    const { root, authority, pck, tcbSigner } = keys;
    const own = await root.certifySelf();
    const authorityCertificate = await root.certify({
      subject: authority.name,
      spki: authority.spki,
      authority: true,
      serial: serials.pckAuthority,
      ...(until.pckAuthority && { until: until.pckAuthority }),
    });
    const pckCertificate = await authority.certify({
      subject: pck.name,
      spki: pck.spki,
      serial: serials.pck,
      ...(until.pck && { until: until.pck }),
      extensions: [sgxExtension()],
    });
    const tcbCertificate = await root.certify({
      subject: tcbSigner.name,
      spki: tcbSigner.spki,
      serial: serials.tcbSigner,
      ...(until.tcbSigner && { until: until.tcbSigner }),
    });
    return new TdxMachine(keys, [toPem(pckCertificate, authorityCertificate, own), toPem(tcbCertificate, own)]);
  }

  async quote(settings: MachineSettings = {}): Promise<Bytes> {
    const { version = 4, qeAuthData = new Uint8Array(32).fill(3) } = settings;
    const body = tdReport(settings);
    const head = concatBytes(
      littleEndian(version, 2),
      littleEndian(2, 2),
      littleEndian(0x81, 4),
      new Uint8Array(4),
      fromHex('939a7233f79c4ca9940a0db3957f0607', 'the vendor'),
      new Uint8Array(20),
    );
    const typed = version === 5 ? [littleEndian(body.length === 648 ? 3 : 2, 2), littleEndian(body.length, 4)] : [];
    const signed = concatBytes(head, ...typed, body);
    const key = this.#attestationKey.point;
    const qeReport = qeReportOf(settings, sha256(concatBytes(key, qeAuthData)));
    const chain = new TextEncoder().encode(`${this.pckChain}\0`);
    const certification = concatBytes(
      qeReport,
      await this.#pck.sign(qeReport),
      littleEndian(qeAuthData.length, 2),
      qeAuthData,
      littleEndian(5, 2),
      littleEndian(chain.length, 4),
      chain,
    );
    const signature = concatBytes(
      await this.#attestationKey.sign(signed),
      key,
      littleEndian(6, 2),
      littleEndian(certification.length, 4),
      certification,
    );
    return concatBytes(signed, littleEndian(signature.length, 4), signature);
  }

  async collateral(settings: CollateralSettings = {}): Promise<TdxCollateral> {
    const tcbInfo = JSON.stringify({ ...tcbInfoOf(), ...settings.tcbInfo });
    const qeIdentity = JSON.stringify({ ...qeIdentityOf(), ...settings.qeIdentity });
    return {
      root_ca_crl: toHex(await this.root.revoke(settings.rootCrl)),
      pck_crl: toHex(await this.#pckAuthority.revoke(settings.pckCrl)),
      tcb_info_issuer_chain: this.#tcbChain,
      tcb_info: tcbInfo,
      tcb_info_signature: toHex(await this.#tcbSigner.sign(new TextEncoder().encode(tcbInfo))),
      qe_identity_issuer_chain: this.#tcbChain,
      qe_identity: qeIdentity,
      qe_identity_signature: toHex(await this.#tcbSigner.sign(new TextEncoder().encode(qeIdentity))),
    };
  }

  /** Evidence as a document has it. */
  async shown(machine: MachineSettings = {}, collateral: CollateralSettings = {}) {
    const quote = toBase64(await this.quote(machine));
    return { tee_type: 'tdx', quote, collateral: await this.collateral(collateral) };
  }

  /** Signs as the platform's own PCK key, which may sign only quotes. */
  signAsPlatform(text: string): Promise<Bytes> {
    return this.#pck.sign(new TextEncoder().encode(text));
  }
}

function tdReport(settings: MachineSettings): Bytes {
  const zeros = new Uint8Array(48);
  const { rtmrs = [], mrServiceTd } = settings;
  return concatBytes(
    Uint8Array.from({ length: 16 }, (_, index) => (settings.teeTcbSvn ?? [3, 0, 5])[index] ?? 0),
    zeros,
    settings.mrSignerSeam ?? zeros,
    littleEndian(settings.seamAttributes ?? 0n, 8),
    littleEndian(settings.tdAttributes ?? 1n << 28n, 8),
    littleEndian(settings.xfam ?? 0x602e7n, 8),
    settings.mrTd ?? zeros,
    settings.mrConfigId ?? zeros,
    zeros,
    zeros,
    ...[0, 1, 2, 3].map((index) => rtmrs[index] ?? zeros),
    settings.reportData ?? new Uint8Array(64),
    ...(mrServiceTd === undefined ? [] : [new Uint8Array(16), mrServiceTd]),
  );
}

function qeReportOf(settings: MachineSettings, digest: Uint8Array): Bytes {
  return concatBytes(
    new Uint8Array(16 + 4 + 28),
    Uint8Array.of(0x11),
    new Uint8Array(15 + 32 + 32),
    settings.qeMrSigner ?? new Uint8Array(32).fill(0xdc),
    new Uint8Array(96),
    littleEndian(2, 2),
    littleEndian(settings.qeIsvSvn ?? 4, 2),
    new Uint8Array(60),
    digest,
    new Uint8Array(32),
  );
}

function sgxExtension(): Bytes {
  const field = (name: string, value: Uint8Array) => sequence(objectIdentifier(`${sgx}.${name}`), value);
  const components = Array.from({ length: 16 }, (_, index) => field(`2.${index + 1}`, integer(5)));
  const tcb = sequence(...components, field('2.17', integer(13)), field('2.18', octets(new Uint8Array(16).fill(5))));
  return extension(
    sgx,
    sequence(
      field('1', octets(new Uint8Array(16).fill(0xaa))),
      field('2', tcb),
      field('3', octets(new Uint8Array(2))),
      field('4', octets(fmspc)),
      field('5', der(0x0a, Uint8Array.of(1))),
    ),
  );
}

const components = (svn: number) => Array.from({ length: 16 }, () => ({ svn }));
const tdxComponents = (...svns: readonly number[]) =>
  components(0).map((zero, index) => ({ svn: svns[index] ?? zero.svn }));

const validity = { issueDate: '2026-01-01T00:00:00Z', nextUpdate: '2026-01-31T00:00:00Z', tcbEvaluationDataNumber: 18 };

function tcbInfoOf() {
  const module = { mrsigner: '00'.repeat(48), attributes: '00'.repeat(8), attributesMask: 'FF'.repeat(8) };
  return {
    id: 'TDX',
    version: 3,
    ...validity,
    fmspc: toHex(fmspc).toUpperCase(),
    pceId: '0000',
    tcbType: 0,
    tdxModule: module,
    tdxModuleIdentities: [
      {
        id: 'TDX_01',
        ...module,
        tcbLevels: [
          { tcb: { isvsvn: 6 }, tcbDate: '2024-11-13T00:00:00Z', tcbStatus: 'UpToDate' },
          {
            tcb: { isvsvn: 2 },
            tcbDate: '2023-08-09T00:00:00Z',
            tcbStatus: 'OutOfDate',
            advisoryIDs: ['INTEL-SA-01036'],
          },
        ],
      },
    ],
    tcbLevels: [
      level('UpToDate', { sgx: 5, pce: 13, tdx: [3, 0, 5] }),
      level('SWHardeningNeeded', { sgx: 5, pce: 13, tdx: [3, 0, 4] }, ['INTEL-SA-00001']),
      level('OutOfDate', { sgx: 4, pce: 11, tdx: [0, 0, 0] }, ['INTEL-SA-00002']),
    ],
  };
}

function level(tcbStatus: string, svns: { sgx: number; pce: number; tdx: number[] }, advisoryIDs?: string[]) {
  const tcb = {
    sgxtcbcomponents: components(svns.sgx),
    pcesvn: svns.pce,
    tdxtcbcomponents: tdxComponents(...svns.tdx),
  };
  return { tcb, tcbDate: '2024-11-13T00:00:00Z', tcbStatus, ...(advisoryIDs && { advisoryIDs }) };
}

function qeIdentityOf() {
  return {
    id: 'TD_QE',
    version: 2,
    ...validity,
    miscselect: '00000000',
    miscselectMask: 'FFFFFFFF',
    attributes: '11000000000000000000000000000000',
    attributesMask: 'FBFFFFFFFFFFFFFF0000000000000000',
    mrsigner: 'DC'.repeat(32),
    isvprodid: 2,
    tcbLevels: [
      { tcb: { isvsvn: 4 }, tcbDate: '2024-11-13T00:00:00Z', tcbStatus: 'UpToDate' },
      { tcb: { isvsvn: 3 }, tcbDate: '2023-11-13T00:00:00Z', tcbStatus: 'OutOfDate' },
    ],
  };
}
