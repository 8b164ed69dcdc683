import { connect, type Socket } from 'node:net';
import { errorAnswerSchema } from '@sotto/wire';

/** One answer as it appeared on the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Spoken {
  /** All text that arrived. */
  readonly text: string;
  readonly answers: readonly RawAnswer[];
  /** Whether the other side closed the connection. */
  readonly closed: boolean;
}

export interface SpeakOptions {
  /** Sent in order, each in its own write, with a pause between them. */
  readonly pieces?: readonly (string | Buffer)[];
  readonly pauseMs?: number;
  /** Returns after this number of answers, without waiting for the end of the connection. */
  readonly answers?: number;
  /** Returns at this time, whatever has arrived. Default: a minute. */
  readonly deadlineMs?: number;
}

/** Sends an origin bytes that no client library would send, and then nothing. */
export async function speak(origin: string, bytes: string | Buffer, options: SpeakOptions = {}): Promise<Spoken> {
  const { pieces = [], pauseMs = 20, answers: wanted = Number.POSITIVE_INFINITY, deadlineMs = 60_000 } = options;
  const socket = await open(origin);
  let text = '';
  const over = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, deadlineMs);
    socket.on('data', (piece: Buffer) => {
      text += piece.toString('latin1');
      if (text.split('HTTP/1.1 ').length > wanted && readAnswers(text).length >= wanted) resolve();
    });
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  for (const piece of pieces) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (!socket.destroyed) socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
  }
  await over;
  const { closed } = socket;
  socket.destroy();
  return { text, answers: readAnswers(text), closed };
}

/** Like `speak`, but returns the first answer. Throws if the server sends no answer. */
export async function answerTo(
  origin: string,
  bytes: string | Buffer,
  options: Omit<SpeakOptions, 'answers'> = {},
): Promise<RawAnswer> {
  const { answers, text } = await speak(origin, bytes, { ...options, answers: 1 });
  const [answer] = answers;
  if (answer === undefined) throw new Error(`no answer, only: ${text.slice(0, 500)}`);
  return answer;
}

/** Opens a connection to an origin without sending anything. */
export function open(origin: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(socket));
    socket.on('error', reject);
    // Once the connection is open, a reset counts as a normal end.
    socket.once('connect', () => socket.off('error', reject).on('error', () => {}));
  });
}

/** Returns the complete answers in a text, by their lengths or chunks. `100 Continue` does not count as an answer. */
export function readAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  for (let end = rest.indexOf('\r\n\r\n'); end !== -1; end = rest.indexOf('\r\n\r\n')) {
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
    const headers = Object.fromEntries(
      lines.map((line) => [line.split(':', 1)[0]?.toLowerCase() ?? '', line.slice(line.indexOf(':') + 1).trim()]),
    );
    rest = rest.slice(end + 4);
    if (status === 100) continue;
    const chunked = headers['transfer-encoding'] === 'chunked';
    const length = chunked ? rest.indexOf('0\r\n\r\n') + 5 : Number(headers['content-length'] ?? 0);
    if ((chunked && length === 4) || rest.length < length) break;
    answers.push({ status, headers, body: rest.slice(0, length) });
    rest = rest.slice(length);
  }
  return answers;
}

/** Returns the error of an answer. Throws if it is not in our envelope, or if the header names another request id. */
export function errorIn({ body, headers }: RawAnswer) {
  const { error } = errorAnswerSchema.parse(JSON.parse(body));
  const named = headers['x-request-id'];
  if (named !== error.request_id) throw new Error(`x-request-id is ${named}, and request_id ${error.request_id}`);
  return error;
}
