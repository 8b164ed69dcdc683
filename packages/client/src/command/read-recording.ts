import { decodeHex, timeSchema } from '@sotto/attestation';
import { asObject, parseJson } from '@sotto/wire';
import type { Recording } from '../report/verify-recorded.ts';
import { readText, required } from './settings.ts';
import { UsageError } from './terminal.ts';

/** The options of a recording, as `parseArgs` takes them. */
export const recordingOptions = {
  recorded: { type: 'string' },
  nonce: { type: 'string' },
  'recorded-at': { type: 'string' },
  exporter: { type: 'string' },
} as const;

const liveOptions = ['model', 'provider', 'privacy', 'control-url', 'key-file', 'relay', 'self-signed'] as const;

type Values = {
  readonly [name in (typeof liveOptions)[number]]?: string | boolean | undefined;
} & {
  readonly [name in keyof typeof recordingOptions]?: string | undefined;
};

/** Reads what `--recorded` names. Options that need a connection are refused with it: they would be ignored. */
export function readRecording(values: Values, origin: string): Recording | undefined {
  const { recorded } = values;
  if (recorded === undefined) {
    const name = (['nonce', 'recorded-at', 'exporter'] as const).find((each) => values[each] !== undefined);
    if (name === undefined) return undefined;
    throw new UsageError(`--${name} needs --recorded.`);
  }
  const live = liveOptions.find((name) => values[name] !== undefined);
  if (live !== undefined) throw new UsageError(`--recorded connects to nothing. Leave it or --${live} out.`);
  const nonce = required('--nonce', values.nonce, 'Evidence is for one nonce.');
  const recordedAt = readTime(values['recorded-at']);
  const document = parseJson(readText('--recorded', recorded));
  const exporter = readExporter(values.exporter);
  if (exporter === undefined && asObject(document)?.channel !== undefined) {
    throw new UsageError(
      'The recorded evidence is for one connection. Pass the value that it exported with --exporter.',
    );
  }
  return { document, origin, nonce, recordedAt, exporter };
}

function readTime(text: string | undefined): number {
  const time = required('--recorded-at', text, 'Evidence is checked as of the time at which it was recorded.');
  if (timeSchema.safeParse(time).success) return Date.parse(time);
  throw new UsageError(`--recorded-at must be a time in UTC such as 2026-11-29T10:00:00Z; got "${time}".`);
}

function readExporter(text: string | undefined): Uint8Array | undefined {
  if (text === undefined) return undefined;
  const bytes = decodeHex(text);
  if (bytes?.length === 32) return bytes;
  throw new UsageError(`--exporter must be 64 lower-case hex digits; got "${text}".`);
}
