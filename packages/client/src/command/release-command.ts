import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { parseArgs } from 'node:util';
import type { GatewayPins } from '@sotto/attestation';
import { parseJson, problemOf } from '@sotto/wire';
import { LogError, signInto } from '../releases/log/log-folder.ts';
import { noteKeyText, noteSigner, noteSignerText, readNoteSigner } from '../releases/log/signed-note.ts';
import { ReleaseRefusal } from '../releases/refusal.ts';
import { minimumFirmwareSchema, type ReleaseStatement, readStatement, statementText } from '../releases/statement.ts';
import { onlyOne, readKeyFile, readPinsFile, readText, required } from './settings.ts';
import { noFiles, readStep, type Step } from './steps.ts';
import { type ExitCode, printableLine, type Terminal, UsageError } from './terminal.ts';

export const releaseHelp = `sotto release: for operators, make a release whose machines users pin with \`sotto pins add\`.

sotto release statement   print what a release says of itself, to be signed
  --version TEXT       such as 0.2.0
  --commit ID          the full commit id
  --pins FILE          its machines and minimum firmware, as \`sotto measure\` prints them (default: none)
  --minimum-firmware FILE   JSON such as {"tdx_evaluation_number": 19, "sev_snp_tcb": {"milan": {"snp": 24}}}, in place
                       of the pins'
  --registry DIGEST    the provider registry, sha256:… (default: the only one in the pins)
  --image NAME=DIGEST  an image and its sha256:… Repeat it for more
  --time TIME          when it was made (default: now)

sotto release key NAME    create a key that signs releases and a log of them. It prints the public key
  --out FILE           where the private key goes. Keep it off the machines of control and of brokers

sotto release sign FILE   sign a statement, append it to a log, and print the release that users pin
  --key FILE           the private key, of mode 600
  --log FOLDER         the log: static files, which any web server can publish. It is created if there is none

To add signatures of witnesses to the newest checkpoint, append their lines to FOLDER/checkpoint and sign the same
statement again: it is not logged twice.

Exit codes: 0 printed; 1 the log or the statement is refused; 2 wrong command line.
`;

const text = { type: 'string' } as const;
const options = {
  ...{
    version: text,
    commit: text,
    pins: text,
    registry: text,
    time: text,
    'minimum-firmware': text,
    out: text,
    key: text,
    log: text,
  },
  image: { type: 'string', multiple: true },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

interface ReleaseStep extends Step<keyof typeof options> {
  readonly run: (terminal: Terminal, values: Values, files: readonly string[], now: number) => void;
}

const steps: ReadonlyMap<string, ReleaseStep> = new Map<string, ReleaseStep>([
  [
    'statement',
    { takes: ['version', 'commit', 'pins', 'registry', 'image', 'time', 'minimum-firmware'], run: printStatement },
  ],
  ['key', { takes: ['out'], run: createKey }],
  ['sign', { takes: ['key', 'log'], run: signStatement }],
]);

/** Runs `sotto release STEP`. `now` is in Unix ms, for tests. */
export async function releaseCommand(
  terminal: Terminal,
  args: readonly string[],
  now: () => number = Date.now,
): Promise<ExitCode> {
  const { step, values, files } = readStep('release', args, { options, steps });
  try {
    step.run(terminal, values, files, now());
    return 0;
  } catch (error) {
    if (error instanceof LogError) terminal.note(`${error.message}\n`);
    else if (error instanceof ReleaseRefusal) terminal.note(`Cannot release: ${printableLine(error.reason)}.\n`);
    else throw error;
    return 1;
  }
}

function printStatement(terminal: Terminal, values: Values, files: readonly string[], now: number): void {
  noFiles(files);
  const { gateway } = values.pins === undefined ? { gateway: {} } : readPinsFile(values.pins);
  const { tdx, sev_snp, provider_registries: [registry, another] = [] } = gateway;
  const statement = statementText({
    version: required('--version', values.version, 'Such as 0.2.0.'),
    commit: required('--commit', values.commit, 'Pass the output of `git rev-parse HEAD`.'),
    released_at: values.time ?? `${new Date(now).toISOString().slice(0, 19)}Z`,
    provider_registry: required(
      '--registry',
      values.registry ?? (another === undefined ? registry : undefined),
      'Pass `registry_sha256` of the image, with `sha256:` before it.',
    ),
    images: Object.fromEntries((values.image ?? []).map(readImage)),
    machines: {
      ...(tdx === undefined ? {} : { tdx: tdx.measurements }),
      ...(sev_snp === undefined ? {} : { sev_snp: sev_snp.measurements }),
    },
    minimum_firmware: minimumFirmware(values['minimum-firmware'], gateway),
  });
  terminal.out(`${statement}\n`);
}

function minimumFirmware(
  file: string | undefined,
  { tdx, sev_snp }: GatewayPins,
): ReleaseStatement['minimum_firmware'] {
  if (file !== undefined) {
    const read = minimumFirmwareSchema.safeParse(parseJson(readText('--minimum-firmware', file)));
    if (!read.success) throw new UsageError(`--minimum-firmware ${file}: ${problemOf(read.error, 'it')}.`);
    return read.data;
  }
  return {
    ...(tdx === undefined ? {} : { tdx_evaluation_number: tdx.minimum_evaluation_number }),
    ...(sev_snp === undefined ? {} : { sev_snp_tcb: sev_snp.minimum_tcb }),
  };
}

function readImage(option: string): [string, string] {
  const [, name, digest] = /^([^=]+)=(sha256:[0-9a-f]{64})$/.exec(option) ?? [];
  if (name === undefined || digest === undefined) {
    throw new UsageError(`--image must be NAME=sha256:… with 64 lower-case hex digits; got "${option}".`);
  }
  return [name, digest];
}

function createKey(terminal: Terminal, { out }: Values, files: readonly string[]): void {
  const file = required('--out', out, 'It names the file for the private key.');
  const name = onlyOne('NAME', files);
  const signer = noteSigner(name, new Uint8Array(randomBytes(32)));
  if (signer === undefined) {
    throw new UsageError(
      `NAME must be 1 to 128 characters without spaces and \`+\`, such as log.example.com; got "${name}".`,
    );
  }
  try {
    writeFileSync(file, `${noteSignerText(signer)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw new UsageError(`--out ${file}: ${exists ? 'it exists already' : 'it cannot be written'}.`);
  }
  terminal.out(`${noteKeyText(signer.key)}\n`);
}

function signStatement(terminal: Terminal, values: Values, files: readonly string[]): void {
  const keyFile = required('--key', values.key, 'Create one with `sotto release key`.');
  const signer = readNoteSigner(readKeyFile(keyFile, terminal.userId, '--key'));
  if (signer === undefined) throw new UsageError(`--key ${keyFile}: it has no private key of \`sotto release key\`.`);
  const folder = required('--log', values.log, 'It names the folder of the log.');
  const statement = new TextEncoder().encode(readText('FILE', onlyOne('FILE', files)).trimEnd());
  readStatement(statement);
  terminal.out(`${JSON.stringify(signInto(folder, statement, signer), undefined, 1)}\n`);
}
