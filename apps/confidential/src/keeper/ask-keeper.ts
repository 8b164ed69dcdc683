import { type RequestOptions, request } from 'node:https';
import { z } from 'zod';

/** The keeper cannot be reached, or releases nothing; the message is for the operator's log. */
export class KeeperError extends Error {}

export interface KeeperConnection {
  readonly origin: string;
  /** Authorities that its certificate may be of, as PEM. */
  readonly ca: string;
  /** The key that this broker proves to have, with a certificate for it, as PEM. */
  readonly key: string;
  readonly cert: string;
}

const timeoutMs = 30_000;
const maxAnswerBytes = 256 * 1024;

/** Posts JSON to the keeper on a connection of its own and resolves to its answer. Throws `KeeperError`. */
export async function askKeeper<Shape extends z.ZodType>(
  connection: KeeperConnection,
  path: string,
  body: object,
  shape: Shape,
): Promise<z.infer<Shape>> {
  const { status, text } = await post(connection, path, JSON.stringify(body));
  const answer = parsed(text);
  if (status !== 200) {
    const { data } = refusalSchema.safeParse(answer);
    throw new KeeperError(`it answered ${status}${data === undefined ? '' : `: ${data.error.message}`}`);
  }
  const read = shape.safeParse(answer);
  if (!read.success) throw new KeeperError('its answer is malformed');
  return read.data;
}

const refusalSchema = z.object({ error: z.object({ message: z.string().max(1000) }) });

function post(
  { origin, ca, key, cert }: KeeperConnection,
  path: string,
  body: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const options: RequestOptions = {
    method: 'POST',
    // Each on its own: the key is proved anew, and nothing of it outlives the answer.
    agent: false,
    key,
    cert,
    ca,
    minVersion: 'TLSv1.3',
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
    signal: AbortSignal.timeout(timeoutMs),
  };
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(new KeeperError(error.code === 'ABORT_ERR' ? 'it did not answer in time' : (error.code ?? error.name)));
    const asking = request(new URL(path, origin), options, (answer) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > maxAnswerBytes) answer.destroy(new Error('too long'));
        else pieces.push(piece);
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') }));
      answer.on('error', fail);
    });
    asking.on('error', fail);
    asking.end(body);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
