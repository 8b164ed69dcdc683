/** One reader of foreign bytes. */
export interface FuzzTarget {
  /** Also the name of its corpus file. */
  readonly name: string;
  /** What a mutation keeps whole: bytes, text, one JSON value, or lines of which some are JSON (streams of events). */
  readonly grammar: 'bytes' | 'text' | 'json' | 'events';
  /** How many of a hundred inputs it gets; default 1. */
  readonly share?: number;
  readonly seeds: readonly Uint8Array[];
  /** Words that its readers branch on. */
  readonly words?: readonly string[];
  /** To what size inputs are grown in search of slow ones, and the CPU that one may take. Only for JSON. */
  readonly grows?: { readonly bytes: number; readonly mostMs: number };
  /** Reads one input. A refusal in the documented way is an answer; whatever is thrown is a finding. */
  readonly read: (input: Buffer) => unknown;
}

/** Throws unless something that must hold of every input does. */
export function promise(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

export const bytesOf = (text: string): Buffer => Buffer.from(text, 'utf8');
export const jsonBytes = (value: unknown): Buffer => bytesOf(JSON.stringify(value));

/** JSON of an input; undefined where it is none, which is not what most readers are about. */
export function jsonOf(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString('utf8'));
  } catch {
    return undefined;
  }
}
