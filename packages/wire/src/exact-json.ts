import { parseJson } from './json.ts';
import { isJsonWithinDepth } from './requests/json-object.ts';

declare global {
  interface JSON {
    /** Wraps text that `JSON.stringify` writes unchanged (ECMA-262, JSON.rawJSON). Node 20 has none. */
    readonly rawJSON?: (text: string) => object;
    readonly isRawJSON?: (value: unknown) => value is { readonly rawJSON: string };
  }
}

/** How many values may still be read exactly, which takes several times as long as `JSON.parse`. */
export interface ExactBudget {
  values: number;
}

/** For text of the user's own, which may take as long as it takes. */
export const unboundedExactness: ExactBudget = { values: Number.POSITIVE_INFINITY };

/** Enough for the tools of any agent. Reading them takes a few milliseconds. */
export const exactBudget = (): ExactBudget => ({ values: 20_000 });

/** Finds, in JSON text, integers that a number may not hold, and names that JavaScript would move to the front of an object. */
const inexact = /(?<![\d.])\d{16}|"(?:0|[1-9]\d{0,9})"\s*:/;

/**
 * Parses JSON so that `JSON.stringify` writes it as it was. An integer of more than 15 digits that a number would round is an object of
 * `JSON.rawJSON`. An object whose names look like integers keeps them in their order. Returns undefined for invalid JSON. A text that is
 * one number, and text with more values than the budget has left, or nested too deeply, is parsed by `JSON.parse`.
 */
export function parseExactJson(text: string, budget: ExactBudget = exactBudget()): unknown {
  const parsed = parseJson(text);
  return typeof parsed === 'object' ? exactly(parsed, text, budget) : parsed;
}

function exactly(parsed: unknown, text: string, budget: ExactBudget): unknown {
  if (!inexact.test(text) || !isJsonWithinDepth(parsed)) return parsed;
  try {
    return new ExactReader(text, budget).read();
  } catch (error) {
    if (error instanceof BudgetSpent) return parsed;
    throw error;
  }
}

/**
 * Replaces members of a body that `JSON.parse` has changed by what its text says, as `parseExactJson` reads it. Only members of these
 * names are looked at, and only a body with such a change is read again.
 */
export function withExactMembers(body: object, text: () => string, isExact: (name: string) => boolean): object {
  const fields = body as Readonly<Record<string, unknown>>;
  const changed = Object.keys(fields).filter((name) => isExact(name) && mayHaveChanged(fields[name]));
  if (changed.length === 0) return body;
  const written = membersOf(text());
  if (written === undefined) return body;
  const budget = exactBudget();
  return {
    ...fields,
    ...Object.fromEntries(changed.map((name) => [name, exactly(fields[name], written.get(name) ?? '', budget)])),
  };
}

/** The most tokens that are stepped over to find the members of a body, which takes some 10 ms. An agent's longest conversation has fewer. */
const mostTokens = 200_000;

/** Returns an integer of `parseExactJson`, or undefined for any other value. */
export function exactInteger(value: unknown): number | bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  return JSON.isRawJSON?.(value) ? BigInt(value.rawJSON) : undefined;
}

const isRounded = (value: number): boolean => !Number.isSafeInteger(value) && Math.abs(value) >= 2 ** 53;

const looksLikeIndex = (name: string): boolean => /^(?:0|[1-9]\d{0,9})$/.test(name);

/** Whether a parsed value holds a number or a name that its text may have shown otherwise. */
function mayHaveChanged(value: unknown): boolean {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'number' && isRounded(next)) return true;
    if (Array.isArray(next)) {
      for (const inner of next) if (mayHold(inner)) open.push(inner);
    } else if (typeof next === 'object' && next !== null) {
      for (const name in next) {
        if (looksLikeIndex(name)) return true;
        const inner = (next as Readonly<Record<string, unknown>>)[name];
        if (mayHold(inner)) open.push(inner);
      }
    }
  }
  return false;
}

const mayHold = (value: unknown): boolean =>
  typeof value === 'object' || (typeof value === 'number' && isRounded(value));

class BudgetSpent extends Error {}

/** Walks through valid JSON text, value by value. */
class JsonText {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Goes to the next character that is not space, a comma or a colon, and returns it. */
  peek(): string {
    separators.lastIndex = this.#at;
    separators.test(this.#text);
    this.#at = separators.lastIndex;
    return this.#text[this.#at] ?? '';
  }

  /** Steps over a bracket. */
  step(): void {
    this.#at += 1;
  }

  /** Takes a string, a number, or one of `true`, `false` and `null`. Returns it as it is written. */
  scalar(): string {
    const next = this.peek();
    const start = this.#at;
    this.#skipScalar(next);
    return this.#text.slice(start, this.#at);
  }

  /** Takes a whole value of at most so many tokens. Returns it as it is written. Throws `BudgetSpent`. */
  value(budget: ExactBudget): string {
    let depth = 0;
    this.peek();
    const start = this.#at;
    do {
      if (budget.values <= 0) throw new BudgetSpent();
      budget.values -= 1;
      const next = this.peek();
      if (next === '{' || next === '[') depth += 1;
      if (next === '}' || next === ']') depth -= 1;
      if ('{}[]'.includes(next)) this.step();
      else this.#skipScalar(next);
    } while (depth > 0);
    return this.#text.slice(start, this.#at);
  }

  #skipScalar(first: string): void {
    if (first === '"') this.#at = this.#afterString(this.#at);
    else {
      plain.lastIndex = this.#at;
      plain.test(this.#text);
      this.#at = plain.lastIndex;
    }
  }

  #afterString(start: number): number {
    for (let end = this.#text.indexOf('"', start + 1); ; end = this.#text.indexOf('"', end + 1)) {
      let slashes = 0;
      while (this.#text[end - 1 - slashes] === '\\') slashes += 1;
      if (slashes % 2 === 0) return end + 1;
    }
  }
}

const separators = /[\s,:]*/y;
const plain = /[\w.+-]*/y;

/** The text of each member of an object, by name. Of a name that comes twice, the last, as `JSON.parse` has it. Undefined if there is too much. */
function membersOf(object: string): ReadonlyMap<string, string> | undefined {
  const text = new JsonText(object);
  const members = new Map<string, string>();
  text.peek();
  text.step();
  const budget: ExactBudget = { values: mostTokens };
  try {
    while (text.peek() !== '}') members.set(JSON.parse(text.scalar()), text.value(budget));
  } catch (error) {
    if (error instanceof BudgetSpent) return undefined;
    throw error;
  }
  return members;
}

class ExactReader {
  readonly #text: JsonText;
  readonly #budget: ExactBudget;

  constructor(text: string, budget: ExactBudget) {
    this.#text = new JsonText(text);
    this.#budget = budget;
  }

  read(): unknown {
    if (this.#budget.values <= 0) throw new BudgetSpent();
    this.#budget.values -= 1;
    const next = this.#text.peek();
    if (next === '{') return this.#object();
    if (next === '[') return this.#list();
    const written = this.#text.scalar();
    const value: unknown = JSON.parse(written);
    const isExact = typeof value !== 'number' || !isRounded(value) || !/^-?\d+$/.test(written);
    return isExact ? value : (JSON.rawJSON?.(written) ?? value);
  }

  #list(): unknown[] {
    const list: unknown[] = [];
    this.#text.step();
    while (this.#text.peek() !== ']') list.push(this.read());
    this.#text.step();
    return list;
  }

  #object(): object {
    const members = new Map<string, unknown>();
    this.#text.step();
    while (this.#text.peek() !== '}') members.set(JSON.parse(this.#text.scalar()), this.read());
    this.#text.step();
    return inOrder(members);
  }
}

/** Makes an object whose names keep their order. JavaScript lists names that look like integers first, so a proxy lists them instead. */
export function inOrder(members: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const object: Record<string, unknown> = Object.fromEntries(members);
  const names = [...members.keys()];
  return Object.keys(object).some((name, at) => name !== names[at])
    ? new Proxy(object, { ownKeys: () => names })
    : object;
}
