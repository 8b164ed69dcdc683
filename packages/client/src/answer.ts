import type { ContentAnswer } from './gateway/platform.ts';

/** A `Response` as an answer that is handed on. */
export const answerFrom = (response: Response): ContentAnswer => ({
  status: response.status,
  headers: [...response.headers].filter(
    ([name]) => !(ofEncoding.has(name) && response.headers.has('content-encoding')),
  ),
  get body() {
    return piecesOf(response);
  },
  toResponse: () => response,
});

/** A refusal that forbids to send the spent ticket again. An SDK above this client may try: each try has its own ticket. */
export function withoutNoRetry({ body, status, headers }: Response): Response {
  const kept = new Headers(headers);
  kept.delete('x-should-retry');
  return new Response(body, { status, headers: kept });
}

/** `fetch` decodes a body, and leaves the headers that speak of it as it was. */
const ofEncoding = new Set(['content-encoding', 'content-length']);

async function* piecesOf({ body }: Response): AsyncIterable<Uint8Array> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // Whoever stops reading leaves the sender.
    await reader.cancel();
  }
}
