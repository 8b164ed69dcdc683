import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';

/** Options of a request, with those of its TLS connection. `lookup` resolves the name of the URL. */
interface PostOptions
  extends Pick<
    RequestOptions,
    'ca' | 'cert' | 'key' | 'lookup' | 'minVersion' | 'rejectUnauthorized' | 'hostname' | 'port' | 'servername'
  > {
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The request fails if the answer is longer. `unread`: its body is not read, however long or slow, and `body` is empty. */
  readonly maxBytes: number | 'unread';
}

interface PostedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Posts JSON on a connection of its own, which ends with the answer. Rejects with Node's error. */
export function postJson(
  url: URL,
  body: string,
  { headers: sent, timeoutMs, maxBytes, ...tls }: PostOptions,
): Promise<PostedAnswer> {
  const options = {
    ...tls,
    method: 'POST',
    agent: false,
    headers: { ...sent, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
    signal: AbortSignal.timeout(timeoutMs),
  };
  return new Promise((resolve, reject) => {
    const read = (answer: IncomingMessage): void => {
      const pieces: Buffer[] = [];
      const { statusCode: status = 0, headers } = answer;
      let bytes = 0;
      answer.on('error', reject);
      if (maxBytes === 'unread') {
        resolve({ status, headers, body: Buffer.alloc(0) });
        answer.destroy();
        return;
      }
      answer.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > maxBytes) answer.destroy(new Error('the answer is too long'));
        else pieces.push(piece);
      });
      answer.on('end', () => resolve({ status, headers, body: Buffer.concat(pieces) }));
    };
    const asked = url.protocol === 'https:' ? httpsRequest(url, options, read) : httpRequest(url, options, read);
    asked.on('error', reject);
    asked.end(body);
  });
}
