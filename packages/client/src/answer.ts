import type { ContentAnswer } from './gateway/platform.ts';

/** A `Response` as an answer that is handed on. */
export const answerFrom = (response: Response): ContentAnswer => ({
  status: response.status,
  headers: [...response.headers],
  get body() {
    return piecesOf(response);
  },
  toResponse: () => response,
});

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
