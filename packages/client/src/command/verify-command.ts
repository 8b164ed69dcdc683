import { parseArgs } from 'node:util';
import { meetsVerdict } from '@sotto/attestation';
import { acceptableEnclaveVerdicts } from '../enclave/enclave-sessions.ts';
import { acceptableVerdicts } from '../gateway/acceptance.ts';
import { readOrigin } from '../origin.ts';
import { nodePlatform } from '../platform/node-platform.ts';
import { reportJson } from '../report/report-json.ts';
import { type EnclaveAsked, isVerified, verifyWith } from '../report/verify.ts';
import { reportText } from './report-text.ts';
import { asUsage, onlyOne, readKey, readPinsFile, readWord, required } from './settings.ts';
import { type ExitCode, type Terminal, UsageError } from './terminal.ts';

export const verifyHelp = `sotto verify URL: verifies what runs at a confidential origin, with a fresh nonce, and sends nothing else to it.

  --json               the report as JSON
  --require VERDICT    exit with 0 only for this verdict or a stronger one: policy_matched, cryptographically_checked or
                       hardware_verified (default)
  --pins FILE          measurements to accept, instead of those that this build ships with
  --self-signed        look even where no authority vouches for the certificate

The enclave of a provider, too (free; the inference key comes from SOTTO_API_KEY or --key-file). The pins must name the
provider's family, its own name for the model, and its machines:
  --model MODEL        verify a provider of this model
  --provider PROVIDER  which one (default: one that is pinned, else the first)
  --privacy CLASS      what it is verified for: e2ee (default), or tee
  --control-url URL    the control origin: where the key goes
  --key-file FILE      a file with the inference key, of mode 600
  --require-provider VERDICT   the weakest verdict on it: policy_matched (default) or cryptographically_checked

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
      model: { type: 'string' },
      provider: { type: 'string' },
      privacy: { type: 'string' },
      'control-url': { type: 'string' },
      'key-file': { type: 'string' },
      'require-provider': { type: 'string' },
    },
  });
  const address = onlyOne('URL', positionals);
  const { origin } = asUsage(() => readOrigin('URL', address));
  const minimum = readWord('--require', values.require ?? 'hardware_verified', acceptableVerdicts);
  const platform = nodePlatform({ selfSigned: values['self-signed'] ?? false });
  const minimumOfProvider = readWord(
    '--require-provider',
    values['require-provider'] ?? 'policy_matched',
    acceptableEnclaveVerdicts,
  );
  const pins = readPinsFile(values.pins);
  const report = await verifyWith(platform, origin, { pins, enclave: readEnclave(terminal, values) });
  terminal.out(values.json ? reportJson(report) : reportText(report));
  const { gateway, enclave } = report;
  const found = [{ verdict: gateway.verdict, minimum, whose: 'of the confidential origin' }];
  if (enclave !== undefined) {
    const verdict = isVerified(enclave) ? enclave.verdict : 'unavailable';
    found.push({ verdict, minimum: minimumOfProvider, whose: 'of the provider' });
  }
  const missed = found.filter((each) => !meetsVerdict(each.verdict, each.minimum));
  for (const { verdict, minimum: wanted, whose } of missed) {
    terminal.note(`The verdict ${whose} is ${verdict}, and ${wanted} is required.\n`);
  }
  if (missed.length === 0) return 0;
  return missed.every(({ verdict }) => verdict === 'unavailable') ? 3 : 1;
}

function readEnclave(
  terminal: Terminal,
  values: { readonly [name in 'model' | 'provider' | 'privacy' | 'control-url' | 'key-file']?: string | undefined },
): EnclaveAsked | undefined {
  const { model, provider, privacy } = values;
  if (model === undefined) {
    if (provider === undefined && privacy === undefined) return undefined;
    throw new UsageError(`${provider === undefined ? '--privacy' : '--provider'} needs --model.`);
  }
  return {
    model,
    provider,
    privacyClass: readWord('--privacy', privacy ?? 'e2ee', ['e2ee', 'tee'] as const),
    controlOrigin: asUsage(() => readOrigin('--control-url', required('--control-url', values['control-url']))).origin,
    apiKey: readKey(terminal, values['key-file']),
  };
}
