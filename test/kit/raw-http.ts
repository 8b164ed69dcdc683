import { connect, type Socket } from 'node:net';
import { errorAnswerSchema } from '@sotto/wire';

/** One answer as it stood on the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Spoken {
  /** Everything that came back. */
  readonly text: string;
  readonly answers: readonly RawAnswer[];
  /** Whether the other side closed the connection. */
  readonly closed: boolean;
  readonly tookMs: number;
}

export interface SpeakOptions {
  /** Sent one after the other, each as a write of its own with a pause between. */
  readonly pieces?: readonly (string | Buffer)[];
  readonly pauseMs?: number;
  /** Returns at so many answers, without waiting for the end of the connection. */
  readonly answers?: number;
  /** Returns then, whatever has come. Default 10 s. */
  readonly deadlineMs?: number;
}

/** Speaks to an origin as no client library would: these bytes, and then silence. */
export async function speak(origin: string, bytes: string | Buffer, options: SpeakOptions = {}): Promise<Spoken> {
  const { pieces = [], pauseMs = 20, answers: wanted = Number.POSITIVE_INFINITY, deadlineMs = 10_000 } = options;
  const startedAt = performance.now();
  const socket = await open(origin);
  let text = '';
  let closed = false;
  const over = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, deadlineMs);
    socket.on('data', (piece: Buffer) => {
      text += piece.toString('latin1');
      if (text.split('HTTP/1.1 ').length > wanted && readAnswers(text).length >= wanted) resolve();
    });
    socket.once('close', () => {
      closed = true;
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
  socket.destroy();
  return { text, answers: readAnswers(text), closed, tookMs: performance.now() - startedAt };
}

/** A connection to an origin on which nothing was said yet. */
export function open(origin: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(socket));
    socket.on('error', reject);
    // Once it is open, a reset is an end like others.
    socket.once('connect', () => socket.off('error', reject).on('error', () => {}));
  });
}

/** The whole answers in what came back, by their lengths or chunks; `100 Continue` is none. */
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

/** The error of an answer; throws where it is not in our envelope. */
export const errorIn = ({ body }: RawAnswer) => errorAnswerSchema.parse(JSON.parse(body)).error;
