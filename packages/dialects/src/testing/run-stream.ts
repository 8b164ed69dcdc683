import { ChatStreamReader } from '../chat-stream.ts';
import type { StreamWriter } from '../translation.ts';

/** Runs the bytes of a chat stream, in these pieces, through a writer. Returns what it wrote. */
export function runStream(writer: StreamWriter, pieces: readonly Uint8Array[]): string {
  let out = '';
  const reader = new ChatStreamReader({
    chunk(chunk) {
      out += writer.chunk(chunk);
    },
  });
  for (const piece of pieces) reader.push(piece);
  reader.end();
  return out + writer.end();
}

/** Cuts bytes at these places. */
export function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

/** The events of a stream that a dialect wrote. */
export const eventsIn = (text: string): { readonly type: string; readonly [field: string]: unknown }[] =>
  text.split('\n\n').flatMap((event) => {
    const [, name, data] = /^event: (\S+)\ndata: (.*)$/s.exec(event) ?? [];
    if (data === undefined) return [];
    const parsed = JSON.parse(data) as { readonly type: string };
    if (parsed.type !== name) throw new Error(`the event ${name} says that it is ${parsed.type}`);
    return [parsed];
  });
