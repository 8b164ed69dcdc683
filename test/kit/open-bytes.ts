import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';

/** The answer that a client received, as bytes. */
export interface BytesAnswer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** Whether the answer ended properly, the client left, or the connection broke. */
  readonly ended: 'answered' | 'left' | 'broken';
}

/** An open request of a client that can read slowly or leave. */
export interface OpenBytes {
  readonly answer: Promise<BytesAnswer>;
  /** Resolves with the first byte of the answer's body. */
  readonly started: Promise<void>;
  /** The number of body bytes received so far. */
  readonly received: number;
  leave(): void;
  /** Begins to read, if the request was opened with `reading: false`. */
  read(): void;
}

/** Posts a body on its own connection. With `reading: false`, the client leaves the answer unread until `read`. */
export function openBytes(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
  { reading = true }: { readonly reading?: boolean | undefined } = {},
): OpenBytes {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let go = (): void => {};
  let leaving = false;
  const { promise: started, resolve: begin } = Promise.withResolvers<void>();
  const request = httpRequest(url, { agent: false, method: 'POST', headers });
  const answer = new Promise<BytesAnswer>((resolve) => {
    let status: number | undefined;
    let got: IncomingHttpHeaders = {};
    const end = (ended: BytesAnswer['ended']): void =>
      resolve({ status, headers: got, bytes: Buffer.concat(pieces), ended: leaving ? 'left' : ended });
    request.on('error', () => end('broken'));
    request.on('response', (response) => {
      status = response.statusCode;
      got = response.headers;
      response.on('error', () => end('broken'));
      response.on('close', () => end('broken'));
      const read = (): void => {
        response.on('data', (piece: Buffer) => {
          pieces.push(piece);
          bytes += piece.length;
          begin();
        });
        response.on('end', () => end(response.complete ? 'answered' : 'broken'));
      };
      if (reading) read();
      else go = read;
    });
  });
  request.end(body);
  return {
    answer,
    started,
    get received() {
      return bytes;
    },
    leave() {
      leaving = true;
      request.destroy();
    },
    read: () => go(),
  };
}
