import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CollateralSettings,
  certifyServer,
  Issuer,
  type ServerCredentials,
  TdxMachine,
  toPem,
} from '@sotto/attestation/testing';
import type { TestTrust } from '../mains/verification.ts';

const dayMs = 86_400_000;
/** Returns the time in so many days, in the format of the vendors' documents. */
export const daysFromNow = (days: number): string =>
  `${new Date(Date.now() + days * dayMs).toISOString().slice(0, 19)}Z`;

/** The pinned measurement of every machine of this ground. */
const zeros = '00'.repeat(48);
export const testMeasurement = ['mr_td', 'rtmr0', 'rtmr1', 'rtmr2', 'rtmr3'].map((name) => `${name}=${zeros}`).join();

/** A vendor of machines and a certificate authority, both created for one test. Brokers trust them by a file. */
export class TestGround {
  readonly machine: TdxMachine;
  /** The value of `TEST_ENCLAVES` for a broker under test. */
  readonly trustFile: string;
  readonly #folder: string;
  readonly #authority: Issuer;
  readonly #ca: string;

  private constructor(made: { machine: TdxMachine; authority: Issuer; ca: string; folder: string }) {
    this.machine = made.machine;
    this.#authority = made.authority;
    this.#ca = made.ca;
    this.#folder = made.folder;
    this.trustFile = join(made.folder, 'trust.json');
  }

  static async make(): Promise<TestGround> {
    const authority = await Issuer.make('Test Authority');
    const ca = toPem(await authority.certifySelf());
    const folder = await mkdtemp(join(tmpdir(), 'sotto-test-ground-'));
    const ground = new TestGround({ machine: await TdxMachine.make(), authority, ca, folder });
    await ground.publish();
    return ground;
  }

  /** Publishes the vendor's documents. They are current, except where a test asks for others. */
  async publish({ tcbInfo, pckCrl, ...settings }: CollateralSettings = {}): Promise<void> {
    const current = { issueDate: daysFromNow(-1), nextUpdate: daysFromNow(20) };
    const lists = { from: daysFromNow(-1), until: daysFromNow(20) };
    const trust: TestTrust = {
      subject: Buffer.from(this.machine.root.anchor.subject).toString('base64'),
      spki: Buffer.from(this.machine.root.anchor.spki).toString('base64'),
      ca: this.#ca,
      collateral: await this.machine.collateral({
        qeIdentity: current,
        rootCrl: lists,
        ...settings,
        tcbInfo: { ...current, ...tcbInfo },
        pckCrl: { ...lists, ...pckCrl },
      }),
    };
    await writeFile(this.trustFile, JSON.stringify(trust));
  }

  certifyServer(): Promise<ServerCredentials> {
    return certifyServer(this.#authority);
  }

  async stop(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
