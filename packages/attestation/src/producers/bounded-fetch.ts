import { type Bytes, concatBytes } from '../bytes.ts';
import { EvidenceError } from './producer.ts';

/** The function that requests vendors' documents: `fetch`, or a replacement. */
export type Fetch = (url: string, init: { redirect: 'error'; signal: AbortSignal }) => Promise<Response>;

export interface FetchedDocument {
  readonly body: Bytes;
  readonly headers: Headers;
}

const timeoutMs = 10_000;

/**
 * Sends one GET and returns the whole body: at most `maxBytes`, within ten seconds, without redirects. Rejects with
 * `EvidenceError`.
 */
export async function fetchDocument(fetch: Fetch, url: string, maxBytes = 1_048_576): Promise<FetchedDocument> {
  try {
    const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw new EvidenceError(`http_${answer.status}`, 'a vendor refused a document');
    }
    return { body: await readBounded(answer, maxBytes), headers: answer.headers };
  } catch (error) {
    throw error instanceof EvidenceError ? error : new EvidenceError('unreachable', 'a vendor could not be reached');
  }
}

async function readBounded(answer: Response, maxBytes: number): Promise<Bytes> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of answer.body ?? []) {
    length += part.length;
    // Leaving the loop ends the transfer.
    if (length > maxBytes) throw new EvidenceError('too_large', "a vendor's document is too large");
    parts.push(part);
  }
  return concatBytes(...parts);
}
