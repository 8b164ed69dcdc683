import { parseArgs } from 'node:util';
import { meetsVerdict } from '@sotto/attestation';
import { readOrigin } from '../origin.ts';
import { nodePlatform } from '../platform/node-platform.ts';
import { verifyWith } from '../report/verify.ts';
import { reportJson, reportText } from './report-text.ts';
import { asUsage, readPinsFile, readVerdict, required } from './settings.ts';
import type { ExitCode, Terminal } from './terminal.ts';

export const verifyHelp = `sotto verify URL: verifies what runs at a confidential origin, with a fresh nonce, and sends nothing else to it.

  --json               the report as JSON
  --require VERDICT    exit with 0 only for this verdict or a stronger one: policy_matched, cryptographically_checked or
                       hardware_verified (default)
  --pins FILE          measurements to accept, instead of those that this build ships with
  --self-signed        look even where no authority vouches for the certificate

Exit codes: 0 the verdict is met; 1 it is not; 2 the call is wrong; 3 there was no evidence to look at.
`;

/** `sotto verify URL`. */
export async function verifyCommand(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: 'boolean' },
      require: { type: 'string' },
      pins: { type: 'string' },
      'self-signed': { type: 'boolean' },
    },
  });
  const [address] = positionals;
  const { origin } = asUsage(() => readOrigin('URL', required('URL', address)));
  const minimum = readVerdict('--require', values.require, 'hardware_verified');
  const platform = nodePlatform({ selfSigned: values['self-signed'] ?? false });
  const report = await verifyWith(platform, origin, { pins: readPinsFile(values.pins) });
  terminal.out(values.json ? reportJson(report) : reportText(report));
  const { verdict } = report.gateway;
  if (verdict === 'unavailable') return 3;
  if (meetsVerdict(verdict, minimum)) return 0;
  terminal.note(`The verdict is ${verdict}, and ${minimum} is required.\n`);
  return 1;
}
