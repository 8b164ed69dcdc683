import { parseJson } from '@sotto/wire';

/** A reader of untrusted bytes. */
export interface FuzzTarget {
  /** Also marks its inputs in the corpus. */
  readonly name: string;
  /**
   * The structure that mutations keep: bytes, text, one JSON value, or lines of which some are JSON (event streams).
   */
  readonly grammar: 'bytes' | 'text' | 'json' | 'events';
  /** Its share of the inputs, in percent. Default: 1. */
  readonly share?: number;
  readonly seeds: readonly Uint8Array[];
  /** Words that its readers branch on. */
  readonly words?: readonly string[];
  /** The size to which inputs are grown in search of slow ones, and the maximum CPU time. Only for JSON. */
  readonly grows?: { readonly bytes: number; readonly mostMs: number };
  /** Reads one input. A documented rejection is an answer. Every other throw is a finding. */
  readonly read: (input: Buffer) => unknown;
}

/** Throws unless a condition that every input must meet is true. */
export function promise(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

export const bytesOf = (text: string): Buffer => Buffer.from(text, 'utf8');
export const jsonBytes = (value: unknown): Buffer => bytesOf(JSON.stringify(value));

/** Parses an input as JSON. Undefined if it is not JSON, which most readers do not handle. */
export const jsonOf = (input: Buffer): unknown => parseJson(input.toString('utf8'));
