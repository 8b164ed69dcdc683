import { request } from 'node:http';
import * as z from 'zod';
import { ByteReader, type Bytes, concatBytes, fromHex, toHex } from '../bytes.ts';
import { jsonOf } from '../refusal.ts';
import type { DstackDescription, MachineReport, ReportSource } from './hardware.ts';
import { EvidenceError } from './producer.ts';

export interface DstackOptions {
  /** The guest agent's unix socket. No environment variable overrides it. */
  readonly socketPath: string;
  readonly timeoutMs?: number | undefined;
}

const maxBytes = 4_194_304;
const defaultTimeoutMs = 15_000;

// Read loosely, because agents of several releases are in use.
const quoteSchema = z.object({
  quote: z.string(),
  event_log: z.string().optional(),
  vm_config: z.string().optional(),
  attestation: z.string().optional(),
});
const infoSchema = z.object({ tcb_info: z.union([z.string(), z.record(z.string(), z.unknown())]) });
const tcbInfoSchema = z.object({ app_compose: z.string().max(1_048_576) });
const machineSchema = z.object({ mr_config: z.string().max(65_536) });

/**
 * Makes reports through dstack's guest agent, which also returns the event log, app-compose and machine configuration.
 */
export function dstackSource({ socketPath, timeoutMs = defaultTimeoutMs }: DstackOptions): ReportSource {
  const post = (path: string, body: object): Promise<unknown> => postJson({ socketPath, timeoutMs, path, body });
  // Cached, because it does not change while the machine runs.
  let appCompose: string | undefined;
  return {
    kind: 'dstack',
    async report(reportData) {
      const answer = parsed(quoteSchema, await post('/GetQuote', { report_data: toHex(reportData) }));
      appCompose ??= await post('/Info', {}).then(appComposeOf);
      return { ...machineReportOf(answer), ...describe(answer, appCompose) };
    },
  };
}

type QuoteAnswer = z.infer<typeof quoteSchema>;

function describe({ event_log, vm_config }: QuoteAnswer, appCompose: string | undefined): DstackDescription {
  const machine = machineSchema.safeParse(jsonOf(vm_config ?? ''));
  return { eventLog: event_log, appCompose, machineConfig: machine.success ? machine.data.mr_config : undefined };
}

function machineReportOf({ quote, attestation = '' }: QuoteAnswer): MachineReport {
  if (quote !== '') return { tee: 'tdx', quote: decoded(quote) };
  return { tee: 'sev_snp', report: snpReportIn(decoded(attestation)) };
}

/**
 * The report inside the agent's own envelope, for machines without a quote. The envelope holds a version, the kind of
 * machine, and the report after its length (SCALE). Source: dstack 0.6, `attestation`.
 */
function snpReportIn(envelope: Bytes): Bytes {
  const reader = new ByteReader(envelope, 'the attestation');
  const snp = { version: 0, kind: 3, compactLength: (1184 << 2) | 1 };
  const [version, kind] = envelope.length >= 4 ? reader.take(2) : [];
  if (version !== snp.version || kind !== snp.kind || reader.u16() !== snp.compactLength || reader.remaining < 1184) {
    throw new EvidenceError('attestation_unknown', 'the guest agent answered neither a quote nor a report');
  }
  return reader.take(1184).slice();
}

function appComposeOf(answer: unknown): string | undefined {
  const { tcb_info: info } = parsed(infoSchema, answer);
  const read = tcbInfoSchema.safeParse(typeof info === 'string' ? jsonOf(info) : info);
  return read.success ? read.data.app_compose : undefined;
}

function decoded(hex: string): Bytes {
  try {
    return fromHex(hex, 'what the agent answered');
  } catch {
    throw malformed();
  }
}

function parsed<T>(schema: z.ZodType<T>, value: unknown): T {
  const read = schema.safeParse(value);
  if (!read.success) throw malformed();
  return read.data;
}

const malformed = (): EvidenceError =>
  new EvidenceError('agent_malformed', 'the guest agent answered what is not of its interface');

function postJson(call: {
  readonly socketPath: string;
  readonly timeoutMs: number;
  readonly path: string;
  readonly body: object;
}): Promise<unknown> {
  const { socketPath, timeoutMs, path, body } = call;
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      reject(error instanceof EvidenceError ? error : new EvidenceError('agent_unreachable', 'no guest agent answers'));
    };
    const signal = AbortSignal.timeout(timeoutMs);
    const headers = { 'content-type': 'application/json', host: 'dstack' };
    const sent = request({ socketPath, path, method: 'POST', headers, signal }, (answer) => {
      const pieces: Uint8Array[] = [];
      let length = 0;
      answer.on('error', fail);
      answer.on('data', (piece: Buffer) => {
        length += piece.length;
        if (length > maxBytes) answer.destroy(new EvidenceError('too_large', 'the guest agent answered too much'));
        else pieces.push(piece);
      });
      answer.on('end', () => {
        if (answer.statusCode !== 200) fail(new EvidenceError(`agent_${answer.statusCode}`, 'the guest agent refused'));
        else resolve(jsonOf(new TextDecoder().decode(concatBytes(...pieces))));
      });
    });
    sent.on('error', fail);
    sent.end(JSON.stringify(body));
  });
}
