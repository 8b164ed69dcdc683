import { parseArgs } from 'node:util';
import type { Check } from '@sotto/attestation';
import { bindingSentences, relaySentence } from '@sotto/wire';
import { acceptableEnclaveVerdicts } from '../enclave/enclave-sessions.ts';
import type { EnclaveVerification } from '../enclave/verify-enclave.ts';
import { acceptableVerdicts, isHonestSimulation } from '../gateway/acceptance.ts';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import { readOrigin } from '../origin.ts';
import { type ReleaseStanding, releasesOf, vendorOf } from '../pins/running-release.ts';
import { nodePlatform } from '../platform/node-platform.ts';
import {
  type EnclaveAbsence,
  type EnclaveAsked,
  isVerified,
  reportJson,
  type VerificationReport,
  verifyWith,
} from '../report/verify.ts';
import { verifyRecorded } from '../report/verify-recorded.ts';
import { releaseWords } from './explain-pins.ts';
import { currencyLines, judgeReport } from './judge-report.ts';
import { readRecording, recordingOptions } from './read-recording.ts';
import { asUsage, onlyOne, readKey, readPinsFile, readWord, requiredAddress } from './settings.ts';
import { type ExitCode, printableLine, type Terminal, UsageError } from './terminal.ts';

export const verifyHelp = `sotto verify URL: check which code a confidential origin runs. It sends only a fresh nonce. Without a URL it takes
the variable BASE_URL.

  --json               print the report as JSON
  --require VERDICT    the weakest verdict for exit code 0: policy_matched, cryptographically_checked or
                       hardware_verified (default)
  --pins FILE          the machines to accept (default: those that this build ships with)
  --self-signed        connect even if no trusted authority signed the certificate
  --allow-simulated    for development: accept simulated evidence from a service on this machine
  --relay URL          connect through a SOCKS5 or HTTP proxy, such as socks5://127.0.0.1:9050

With --recorded, it checks evidence that was recorded, and connects to nothing:
  --recorded FILE      an answer of GET /v1/gateway/attestation
  --nonce HEX          the nonce that it was requested with
  --recorded-at TIME   when, such as 2026-11-29T10:00:00Z: dates are checked as of then
  --exporter HEX       what the connection exported, if the evidence is for one connection
A recording proves what a machine was then, not which machine you reach now. So --require is cryptographically_checked by
default.

With --model, it also verifies a provider's enclave. This is free but needs an inference key. The pins must name the
provider's family, its name for the model, and its machines.
  --model MODEL        the model whose provider to verify
  --provider PROVIDER  the provider (default: a pinned one, else the first)
  --privacy CLASS      the kind of route: e2ee (default) or tee
  --control-url URL    the control origin, which receives your key
  --key-file FILE      a file with the inference key, of mode 600 (default: the variable INFERENCE_KEY)
  --require-provider VERDICT   the weakest verdict on the enclave: policy_matched (default) or
                       cryptographically_checked

Exit codes: 0 every verdict is strong enough, and its evidence up to date; 1 one is not; 2 wrong command line; 3 no evidence.
`;

/** Runs `sotto verify URL`. */
export async function verifyCommand(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: 'boolean' },
      require: { type: 'string' },
      pins: { type: 'string' },
      'self-signed': { type: 'boolean' },
      'allow-simulated': { type: 'boolean' },
      relay: { type: 'string' },
      model: { type: 'string' },
      provider: { type: 'string' },
      privacy: { type: 'string' },
      'control-url': { type: 'string' },
      'key-file': { type: 'string' },
      'require-provider': { type: 'string' },
      ...recordingOptions,
    },
  });
  if (values['allow-simulated'] === true && values.require !== undefined) {
    throw new UsageError(
      '--require asks for a verdict, and simulated evidence has none. Leave it or --allow-simulated out.',
    );
  }
  const { BASE_URL } = terminal.environment;
  const address = onlyOne('URL', positionals.length === 0 && BASE_URL !== undefined ? [BASE_URL] : positionals);
  const { origin } = asUsage(() => readOrigin('URL', address));
  const recording = readRecording(values, origin);
  // Without its connection, evidence reaches no stronger verdict.
  const strongest = recording === undefined ? 'hardware_verified' : 'cryptographically_checked';
  const minimum = readWord('--require', values.require ?? strongest, acceptableVerdicts);
  const platform = asUsage(() => nodePlatform({ selfSigned: values['self-signed'] ?? false, relay: values.relay }));
  const minimumOfProvider = readWord(
    '--require-provider',
    values['require-provider'] ?? 'policy_matched',
    acceptableEnclaveVerdicts,
  );
  const pins = readPinsFile(values.pins);
  const report =
    recording === undefined
      ? await verifyWith(platform, origin, { pins, enclave: readEnclave(terminal, values) })
      : await verifyRecorded(recording, pins).then((gateway) => ({ gateway, releases: releasesOf(pins, gateway) }));
  const isRecorded = recording !== undefined;
  terminal.out(values.json ? reportJson(report, isRecorded) : reportText(report, isRecorded));
  const { gateway }: VerificationReport = report;
  const isSimulated = values['allow-simulated'] === true && isHonestSimulation(gateway);
  if (isHonestSimulation(gateway)) {
    const advice = isSimulated ? '' : ' For development, accept it with --allow-simulated.';
    terminal.note(`The evidence is simulated. Nothing is protected.${advice}\n`);
  }
  const { code, notes } = judgeReport(report, { minimum: isSimulated ? undefined : minimum, minimumOfProvider });
  for (const note of notes) terminal.note(`${note}\n`);
  return code;
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
    controlOrigin: asUsage(() =>
      readOrigin('--control-url', requiredAddress(terminal, '--control-url', values['control-url'])),
    ).origin,
    apiKey: readKey(terminal, values['key-file']),
  };
}

/** Formats a report for people: one line for each check, with its reason. */
function reportText({ gateway, releases, enclave }: VerificationReport, isRecorded: boolean): string {
  return [
    ...(isRecorded ? [`Recorded evidence, checked as of ${timeOf(gateway)}; no service was contacted.`] : []),
    ...standing(gateway, releases),
    ...(isRecorded ? recordedBinding(gateway) : liveBinding(gateway)),
    ...(gateway.absence === undefined ? [] : [`Why                  ${gateway.absence}`]),
    '',
    ...checkLines(gateway.checks),
    ...(enclave === undefined ? [] : ['', ...enclaveLines(enclave)]),
    ...(gateway.keySet?.tls_public_keys ?? []).map((key) => `TLS key of ${key.origin}: sha256 ${key.spki_sha256}`),
    '',
  ].join('\n');
}

const vendors = { intel: 'Intel', amd: 'AMD' } as const;

function standing(gateway: OriginVerification, { running, newest }: ReleaseStanding): string[] {
  const { origin, verdict, teeType, verifiedAt, pin } = gateway;
  const vendor = vendorOf(teeType);
  return [
    `Confidential origin  ${origin}`,
    `Verdict              ${verdict}`,
    ...currencyLines(gateway).map(printableLine),
    `Evidence             ${teeType ?? 'none'}${teeType === 'simulated' ? ': no hardware protects your content' : ''}`,
    ...(vendor === undefined ? [] : [`Vendor               ${vendors[vendor]}`]),
    ...(pin === undefined ? [] : [`Release              ${runningWords(running, verifiedAt)}`]),
    ...(newest === undefined ? [] : [`Newest known release ${releaseWords(newest, verifiedAt)}`]),
  ];
}

const liveBinding = (gateway: OriginVerification): string[] => [
  `TLS key              ${gateway.tlsKeySeen ? 'seen' : 'not seen: the connection does not use TLS, or its key is hidden'}`,
  `Binding              ${gateway.binding}: ${bindingSentences[gateway.binding]}`,
  `Verified at          ${timeOf(gateway)}`,
];

const recordedBinding = ({ binding }: OriginVerification): string[] => [
  'TLS key              not compared: a file has no connection',
  `Binding              ${binding === 'channel' ? 'channel: The evidence covers the connection that exported this value.' : 'not compared: a file has no connection'}`,
];

const timeOf = ({ verifiedAt }: OriginVerification): string => new Date(verifiedAt).toISOString();

const runningWords = (running: ReleaseStanding['running'], now: number): string =>
  running === undefined
    ? 'not known: the pin was made by hand, or the evidence is not genuine'
    : releaseWords(running, now);

function enclaveLines(enclave: EnclaveVerification | EnclaveAbsence): string[] {
  if (!isVerified(enclave))
    return [`Provider             no evidence: ${printableLine(`${enclave.type}: ${enclave.message}`)}`];
  const { provider, model, verdict, gpu, checks, tlsSpkiSha256 } = enclave;
  return [
    `Provider             ${printableLine(provider)}, for ${printableLine(model)}`,
    `Verdict              ${verdict}`,
    ...currencyLines(enclave).map(printableLine),
    `Content              ${contentLine(enclave)}`,
    `GPUs                 ${gpu.standing}${gpu.reason === undefined ? '' : `: ${printableLine(gpu.reason)}`}`,
    '',
    ...checkLines(checks),
    ...tlsSpkiSha256.map((spki) => `TLS key of the enclave: sha256 ${spki}`),
  ];
}

/** Says who can read the content of requests on a verified route. */
function contentLine({ contentVisible, relayAttacks }: EnclaveVerification): string {
  if (relayAttacks === undefined) return 'the service can read it';
  return `${contentVisible ? 'the enclave, and a malicious broker' : 'only the enclave'} can read it. ${relaySentence(relayAttacks)}`;
}

const words = { passed: 'passed  ', failed: 'FAILED  ', not_made: 'skipped ' } as const;

function checkLines(checks: readonly Check[]): string[] {
  const width = Math.max(0, ...checks.map(({ name }) => name.length));
  return checks.map((check) => {
    const reason = check.outcome === 'passed' ? '' : `  ${printableLine(check.reason)}`;
    return `  ${words[check.outcome]}  ${reason === '' ? check.name : check.name.padEnd(width)}${reason}`;
  });
}
