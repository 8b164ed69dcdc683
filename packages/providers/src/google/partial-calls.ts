import { asArray, asObject, asString, type JsonObject } from '../json.ts';

/** A whole `functionCall` and the thought signature that came with it. */
export interface GatheredCall {
  readonly called: JsonObject;
  readonly signature: string | undefined;
}

type Container = Record<string, unknown> | unknown[];

/**
 * Assembles function calls that Gemini streams in parts. Each part holds values for paths of the arguments
 * (`partialArgs`). The last part lacks `willContinue`. A call that arrives whole passes unchanged.
 *
 * @see https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc
 */
export class PartialCalls {
  #open: { name: unknown; id: unknown; args: Record<string, unknown>; signature: string | undefined } | undefined;

  /** Takes one `functionCall` and returns the calls that are now whole. */
  take(called: JsonObject, signature: string | undefined): GatheredCall[] {
    const isPart = called.willContinue === true || called.partialArgs !== undefined;
    const begins = asString(called.name) !== undefined;
    const done = begins ? this.end() : [];
    if (!isPart && (begins || this.#open === undefined)) return [...done, { called, signature }];
    this.#open ??= { name: called.name, id: called.id, args: emptyObject(), signature: undefined };
    this.#open.signature ??= signature;
    for (const entry of asArray(called.partialArgs) ?? []) place(this.#open.args, asObject(entry) ?? {});
    return called.willContinue === true ? done : [...done, ...this.end()];
  }

  /** Closes and returns the open call with the arguments so far. */
  end(): GatheredCall[] {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return [];
    const { name, id, args, signature } = open;
    return [{ called: { name, id, args }, signature }];
  }
}

/** Writes one value at its JSONPath. Text is appended to text that the path already has. */
function place(args: Record<string, unknown>, { jsonPath, ...value }: JsonObject): void {
  const keys = keysOf(asString(jsonPath) ?? '');
  const last = keys.pop();
  if (last === undefined) return;
  let at: Container = args;
  for (const [position, key] of keys.entries()) {
    const next: unknown = read(at, key);
    const child: Container = isContainer(next)
      ? next
      : typeof (keys[position + 1] ?? last) === 'number'
        ? []
        : emptyObject();
    if (child !== next) write(at, key, child);
    at = child;
  }
  const text = asString(value.stringValue);
  if (text === undefined) write(at, last, value.numberValue ?? value.boolValue ?? null);
  else write(at, last, (asString(read(at, last)) ?? '') + text);
}

/** Returns the keys of a path such as `$.items[0]['name']`. */
function keysOf(path: string): (string | number)[] {
  const keys: (string | number)[] = [];
  for (const [, name, index, quoted] of path.matchAll(/\.([^.[\]]+)|\[(\d{1,4})\]|\[['"]([^'"]*)['"]\]/g)) {
    keys.push(index === undefined ? (name ?? quoted ?? '') : Number(index));
  }
  return keys;
}

/** Has no prototype, so that a key from the model cannot reach inherited properties. */
const emptyObject = (): Record<string, unknown> => Object.create(null);

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

const read = (at: Container, key: string | number): unknown => (at as Record<string | number, unknown>)[key];

function write(at: Container, key: string | number, value: unknown): void {
  if (Array.isArray(at) && typeof key !== 'number') return;
  (at as Record<string | number, unknown>)[key] = value;
}
