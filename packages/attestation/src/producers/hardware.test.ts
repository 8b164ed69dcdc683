import { beforeAll, describe, expect, it } from 'vitest';
import type { Bytes } from '../bytes.ts';
import { reportDataOf } from '../statement/statement.ts';
import { SnpMachine } from '../testing/snp-machine.ts';
import { TdxMachine } from '../testing/tdx-machine.ts';
import { hardwareProducer, type MachineReport } from './hardware.ts';
import { VendorDocuments } from './vendor-documents.ts';

const statement = new TextEncoder().encode('{"purpose":"sotto.gateway.report_data.v1"}');
const nowhere = () =>
  new VendorDocuments({
    now: () => 0,
    onExpiring: () => {},
    fetch: async () => {
      throw new TypeError('no network');
    },
  });
const produce = (report: (reportData: Bytes) => Promise<MachineReport>) =>
  hardwareProducer({ kind: 'configfs', report }, nowhere()).produce(statement);

let tdx: TdxMachine;
let snp: SnpMachine;
beforeAll(async () => {
  tdx = await TdxMachine.make();
  snp = await SnpMachine.make('milan');
});

describe('evidence from hardware', () => {
  it('binds the statement, and is produced without collateral if that is unavailable', async () => {
    let given: Bytes | undefined;
    const evidence = await produce(async (reportData) => {
      given = reportData;
      return { tee: 'tdx', quote: await tdx.quote({ reportData }), eventLog: '[]', appCompose: '{}' };
    });
    expect(given).toEqual(reportDataOf(Uint8Array.from(statement)));
    expect(Object.keys(evidence).sort()).toEqual(['app_compose', 'event_log', 'quote', 'tee_type']);
  });

  it('is refused if the machine reports other data, or no report', async () => {
    const other = new Uint8Array(64).fill(1);
    const stale = produce(async () => ({ tee: 'tdx', quote: await tdx.quote({ reportData: other }) }));
    await expect(stale).rejects.toMatchObject({ code: 'report_data_differs' });
    const foreign = produce(async () => ({ tee: 'sev_snp', report: await snp.report({ reportData: other }) }));
    await expect(foreign).rejects.toMatchObject({ code: 'report_data_differs' });
    const garbage = produce(async () => ({ tee: 'tdx', quote: new Uint8Array(10) }));
    await expect(garbage).rejects.toMatchObject({ code: 'report_malformed' });
  });

  it('of SEV-SNP needs the chip’s certificate', async () => {
    const bare = produce(async (reportData) => ({ tee: 'sev_snp', report: await snp.report({ reportData }) }));
    await expect(bare).rejects.toMatchObject({ code: 'endorsement_missing' });
  });
});
