import type { Route } from '@sotto/router';
import type { ClientLink } from '../attempts/client-link.ts';
import type { InferenceRequest } from '../inference-request.ts';

/** A client that takes nothing for this long is not waited for: the answer would stay in memory for its sake. */
const stallMs = 60_000;
const sendingMs = 10 * 60_000;

/**
 * Sends a whole JSON answer that may be too large to be copied, piece by piece as the client takes it, for ten minutes at
 * most: a client that takes a piece a minute would otherwise keep the rest in memory for as long as it likes.
 */
export async function answerInPieces(
  inference: InferenceRequest,
  route: Route,
  pieces: readonly (string | Buffer)[],
): Promise<void> {
  const { client } = inference;
  const { response } = client;
  const length = String(pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0));
  inference.beginAnswer(route, 'content-type', 'application/json; charset=utf-8', 'content-length', length);
  const overdue = setTimeout(() => response.destroy(), sendingMs);
  // The last batch leaves with the end: what has to be done before the answer is whole is done by then.
  let last: Buffer | undefined;
  for (const batch of inBatches(pieces)) {
    if (client.hasLeft) break;
    if (last !== undefined && !response.write(last) && !(await drained(client))) break;
    last = batch;
  }
  clearTimeout(overdue);
  if (!client.hasLeft) response.end(last);
  inference.logged(200, route);
}

const batchBytes = 64 * 1024;

/** Joins small pieces, so that each is not a write of its own; large ones stay as they are. */
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

/** Waits until the client has taken what was written; false where it left, or was given up. */
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
