import { errorAnswerSchema, parseJson } from '@sotto/wire';
import { Pool } from 'undici';
import { readAnswers, speak } from '../../../test/kit/raw-http.ts';
import { mutateBytes } from '../engine/mutate-bytes.ts';
import { SeededRandom } from '../engine/seeded-random.ts';
import { type Credentials, type FuzzedRequest, makeRequest, marker } from './make-request.ts';
import type { HttpWorld } from './world.ts';

export interface HttpFuzzResult {
  readonly requests: number;
  readonly byStatus: Readonly<Record<number, number>>;
  readonly operations: ReadonlySet<string>;
  readonly findings: readonly string[];
}

interface FuzzedWorld extends Pick<HttpWorld, 'account' | 'session'> {
  readonly service: Pick<HttpWorld['service'], 'controlUrl' | 'baseUrl' | 'mintTicket'>;
}

/** Maximum concurrent requests. */
const width = 8;
/** One in this number of requests is broken byte by byte, beyond valid HTTP. */
const rawEvery = 40;

/**
 * Sends requests that are generated from the OpenAPI documents of both origins. Each must be answered, but not with
 * 500, not outside the error envelope, and not with content of its body.
 */
export async function fuzzHttp(
  { service, account, session }: FuzzedWorld,
  { requests, seed, until }: { readonly requests: number; readonly seed: number; readonly until: number },
): Promise<HttpFuzzResult> {
  const random = new SeededRandom(seed);
  const origins = { control: new URL(service.controlUrl).origin, confidential: new URL(service.baseUrl).origin };
  const pools = {
    control: new Pool(origins.control, { connections: width }),
    confidential: new Pool(origins.confidential, { connections: width }),
  };
  const tickets: string[] = [];
  const credentials = {
    inferenceKey: account.inferenceKey,
    managementKey: account.managementKey,
    session: await session(),
    ticket: () => tickets.pop(),
  };
  const byStatus: Record<number, number> = {};
  const operations = new Set<string>();
  const findings: string[] = [];
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < requests && Date.now() < until && findings.length < 20) {
      sent += 1;
      const nth = sent;
      try {
        if (nth % 50 === 0) {
          const { ticket } = await service.mintTicket(account.inferenceKey, { model: 'fuzz/chat' });
          tickets.push(ticket);
        }
        // A fuzzed request may sign out.
        if (nth % 1000 === 0) credentials.session = await session();
      } catch (error) {
        // A limit or a busy machine may refuse this. The requests go on with what there is.
        if (!/: (?:429|503) /.test(String(error))) findings.push(String(error));
      }
      const request = makeRequest(random, credentials satisfies Credentials);
      operations.add(request.operation);
      try {
        if (nth % rawEvery === 0) {
          await sendBroken(origins[request.origin], request, random);
          continue;
        }
        const { status, body } = await send(pools[request.origin], request);
        byStatus[status] = (byStatus[status] ?? 0) + 1;
        const wrong = wrongWith(request, status, body);
        if (wrong !== undefined) findings.push(`${wrong}: ${told(request)} → ${status} ${body.slice(0, 500)}`);
      } catch (error) {
        findings.push(`no answer (${String(error)}): ${told(request)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  await Promise.all(Object.values(pools).map((pool) => pool.destroy()));
  return { requests: sent, byStatus, operations, findings };
}

async function send(
  pool: Pool,
  { method, path, headers, body }: FuzzedRequest,
): Promise<{ status: number; body: string }> {
  const answer = await pool.request({
    method: method as 'GET',
    path,
    headers: headers.flat(),
    body: body ?? null,
    headersTimeout: 20_000,
    bodyTimeout: 20_000,
  });
  return { status: answer.statusCode, body: await answer.body.text() };
}

function wrongWith({ origin, path }: FuzzedRequest, status: number, body: string): string | undefined {
  if (status === 500) return 'an internal error';
  if (status < 400) return undefined;
  const parsed = errorAnswerSchema.safeParse(parseJson(body));
  if (!parsed.success) return 'an error outside the envelope';
  const { type, message, param } = parsed.data.error;
  // A busy machine rejects some requests before it reads them.
  if (type === 'service_unavailable' && !message.startsWith('More requests come'))
    return 'not ready for a request of this form';
  if (body.length > 4000) return 'a very long error';
  // In the broker, everything in a body is content, except names of fields, models and providers.
  const isSelection = /^(?:models?|provider)\b/.test(param ?? '') || path.includes(marker);
  if (origin === 'confidential' && body.includes(marker) && !isSelection) return 'an error that repeats content';
  return undefined;
}

/**
 * Sends the same request with some bytes changed. An answer must be in the envelope; closing the connection is also
 * allowed.
 */
async function sendBroken(
  origin: string,
  { method, path, headers, body }: FuzzedRequest,
  random: SeededRandom,
): Promise<void> {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'host: x',
    'connection: close',
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  if (body !== undefined) lines.push(`content-length: ${body.length}`);
  const bytes = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body ?? Buffer.alloc(0)]);
  const { text } = await speak(origin, Buffer.from(mutateBytes(bytes, random)), { deadlineMs: 300, answers: 1 });
  for (const answer of readAnswers(text)) {
    if (answer.status === 500) throw new Error('an internal error');
    if (answer.status >= 400 && method !== 'HEAD') errorAnswerSchema.parse(JSON.parse(answer.body));
  }
}

const told = ({ method, path, headers, body }: FuzzedRequest): string =>
  `${method} ${path} ${JSON.stringify(headers.filter(([name]) => !/authorization|cookie|ticket/.test(name)))} ${body?.toString('utf8').slice(0, 1500) ?? ''}`;
