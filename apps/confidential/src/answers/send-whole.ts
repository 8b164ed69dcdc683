import type { ClientLink } from './client-link.ts';
import type { StreamTarget } from './stream-to-client.ts';

/** Disconnect a client that takes nothing for this long: its answer would stay in memory. */
const stallMs = 60_000;
const sendingMs = 10 * 60_000;

/**
 * Sends a whole JSON answer. An answer that may be too large to copy goes piece by piece as the client takes it, for at
 * most ten minutes. Otherwise a client that takes a piece a minute would keep the rest in memory without limit.
 */
export async function sendWhole(
  { client, begin }: Pick<StreamTarget, 'client' | 'begin'>,
  pieces: readonly (string | Buffer)[],
): Promise<void> {
  const length = String(pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0));
  begin('content-type', 'application/json; charset=utf-8', 'content-length', length);
  const [whole] = pieces;
  // A string leaves in one write with the headers.
  if (pieces.length === 1 && typeof whole === 'string') client.end(whole);
  else await sendInPieces(client, pieces);
}

async function sendInPieces(client: ClientLink, pieces: readonly (string | Buffer)[]): Promise<void> {
  const overdue = setTimeout(() => client.response.destroy(), sendingMs);
  // Hold the last batch back for `end`, which lets the answer's witness finish before the last bytes leave.
  let last: Buffer | undefined;
  for (const batch of inBatches(pieces)) {
    if (client.hasLeft) break;
    if (last !== undefined && !client.write(last) && !(await drained(client))) break;
    last = batch;
  }
  clearTimeout(overdue);
  if (!client.hasLeft) client.end(last);
}

const batchBytes = 64 * 1024;

/** Joins small pieces, so that each is not a separate write. Large pieces stay as they are. */
function* inBatches(pieces: readonly (string | Buffer)[]): Iterable<Buffer> {
  let batch: Buffer[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    const next = typeof piece === 'string' ? Buffer.from(piece, 'utf8') : piece;
    if (bytes > 0 && bytes + next.length > batchBytes) {
      yield joined(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(next);
    bytes += next.length;
  }
  if (bytes > 0) yield joined(batch);
}

const joined = (batch: readonly Buffer[]): Buffer => {
  const [first] = batch;
  return batch.length === 1 && first !== undefined ? first : Buffer.concat(batch);
};

/** Waits until the client has taken what was written. Returns false if it left or was given up. */
function drained(client: ClientLink): Promise<boolean> {
  const { response } = client;
  return new Promise((resolve) => {
    const over = (isDrained: boolean): void => {
      clearTimeout(stalled);
      client.onLeft(undefined);
      response.off('drain', onDrain);
      resolve(isDrained);
    };
    const onDrain = (): void => over(true);
    const stalled = setTimeout(() => response.destroy(), stallMs);
    client.onLeft(() => over(false));
    response.once('drain', onDrain);
    if (client.hasLeft) over(false);
  });
}
