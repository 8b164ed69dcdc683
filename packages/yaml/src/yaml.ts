import { faultsOf } from '@sotto/wire';
import {
  Document,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
} from 'yaml';
import type * as z from 'zod';

/** One problem in a file. Lines count from 1. */
export interface FileProblem {
  readonly line: number;
  readonly message: string;
}

export type FileResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: FileProblem[] };

/** A parsed YAML file that knows the line of each of its values. */
export interface YamlSource {
  readonly value: unknown;
  /** The line of the value at a path, or of its nearest parent that exists. */
  lineOf(path: readonly PropertyKey[]): number;
  /** The line of the key at a path of keys. It differs from the value's line if the value begins below its key. */
  lineOfKey(path: readonly string[]): number;
  /**
   * The part of the file at a path of keys, as a file of its own: a list with its key, and the content of anything else.
   * Its lines have the same numbers. Undefined if the part is not there, or is in a file in flow style (`{}`).
   */
  partAt(path: readonly string[]): string | undefined;
  /** The number at a path as it is written, such as `0123` or one with more digits than a number holds. */
  numberAt(path: readonly PropertyKey[]): string | undefined;
}

/**
 * Parses YAML text and returns syntax errors with their lines. Refuses aliases, because they can expand to an enormous
 * size.
 */
export function readYaml(text: string): FileResult<YamlSource> {
  const lines = new LineCounter();
  // The parser's own warnings would quote the file on stderr. The code below reports the errors.
  const document = parseDocument(text, {
    ...{ lineCounter: lines, uniqueKeys: true, logLevel: 'error' },
    // The position and the line itself, which the text of a pretty error repeats, are in `line`.
    prettyErrors: false,
  });
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => ({
      line: lines.linePos(error.pos[0]).line,
      message: `malformed YAML: ${error.message}`,
    }));
    return { ok: false, problems };
  }
  const aliases: FileProblem[] = [];
  visit(document, {
    Alias: (_key, alias) => {
      const line = lines.linePos(alias.range?.[0] ?? 0).line;
      aliases.push({ line, message: 'aliases (`*name`) are not supported' });
    },
  });
  if (aliases.length > 0) return { ok: false, problems: aliases };
  const lineOf = (path: readonly PropertyKey[]): number => {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return 1;
  };
  const lineOfKey = (path: readonly string[]): number =>
    lines.linePos(pairAt(document, path)?.key.range?.[0] ?? 0).line;
  const partAt = (path: readonly string[]): string | undefined => partOf(document, text, path);
  const numberAt = (path: readonly PropertyKey[]): string | undefined => {
    const node = document.getIn(path, true);
    return isScalar(node) && typeof node.value === 'number' ? node.source : undefined;
  };
  try {
    return { ok: true, value: { value: document.toJS({ maxAliasCount: 0 }), lineOf, lineOfKey, partAt, numberAt } };
  } catch {
    // A `%YAML 1.1` directive brings back features such as merge keys, which make `toJS` throw.
    return { ok: false, problems: [{ line: 1, message: 'only YAML 1.2 is supported' }] };
  }
}

/** A value that was made from a file's, such as with what another file adds. */
export interface Rewritten {
  readonly value: unknown;
  /** The path in the file that a path in `value` came from. */
  readonly originOf: (path: readonly PropertyKey[]) => readonly PropertyKey[];
}

/**
 * Reads YAML text against a schema. Each issue has the line it concerns. `rewrite` changes the value before the schema sees it; the
 * lines stay those of the file.
 */
export function readYamlAs<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  rewrite: (value: unknown) => Rewritten = (value) => ({ value, originOf: (path) => path }),
): FileResult<{ readonly file: z.infer<Schema>; readonly source: Pick<YamlSource, 'lineOf'> }> {
  const source = readYaml(text);
  if (!source.ok) return source;
  const { value, originOf } = rewrite(source.value.value);
  const lineOf = (path: readonly PropertyKey[]): number => source.value.lineOf(originOf(path));
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return { ok: true, value: { file: parsed.data, source: { lineOf } } };
  const problems = faultsOf(parsed.error, 'the file').map(({ path, message }) => ({ line: lineOf(path), message }));
  return { ok: false, problems };
}

function pairAt(document: Document, path: readonly string[]) {
  const parent = document.getIn(path.slice(0, -1), true);
  if (!isMap(parent)) return undefined;
  const pair = parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
  return pair !== undefined && isScalar(pair.key) ? { parent, key: pair.key, value: pair.value } : undefined;
}

function partOf(document: Document, text: string, path: readonly string[]): string | undefined {
  const pair = pairAt(document, path);
  if (pair === undefined || !isCollection(pair.value) || !pair.value.range || !pair.key.range) return undefined;
  if (pair.parent.flow) return undefined;
  const [valueStart, , end] = pair.value.range;
  // A block's first line is indented like the others, so it keeps its indentation.
  const start = isSeq(pair.value)
    ? pair.key.range[0]
    : valueStart - (/ *$/.exec(text.slice(0, valueStart))?.[0].length ?? 0);
  return text.slice(0, start).replace(/[^\n]/g, '') + text.slice(start, end);
}

interface WriteOptions {
  /** Stands at the top of the file. */
  readonly comment: string;
  /** Fields that are written on one line, which is easier to read. */
  readonly onOneLine: ReadonlySet<unknown>;
}

/** Writes a value as YAML text. The same value always makes the same text. */
export function writeYaml(value: unknown, { comment, onOneLine }: WriteOptions): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  document.commentBefore = comment
    .split('\n')
    .map((line) => ` ${line}`)
    .join('\n');
  visit(document, {
    Pair(_key, pair) {
      if (!isPair(pair) || !isScalar(pair.key) || !onOneLine.has(pair.key.value)) return undefined;
      if (isMap(pair.value) || isSeq(pair.value)) pair.value.flow = true;
      return visit.SKIP;
    },
  });
  return document.toString({ lineWidth: 0 });
}
