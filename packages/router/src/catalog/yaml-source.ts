import { isNode, LineCounter, parseDocument, visit } from 'yaml';
import type { z } from 'zod';

/** One thing that is wrong with a file, at a line counted from 1. */
export interface FileProblem {
  readonly line: number;
  readonly message: string;
}

export type FileResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: FileProblem[] };

/** A parsed YAML file, and where in the text each of its values stands. */
export interface YamlSource {
  readonly value: unknown;
  /** The line of the value at a path, or of its nearest parent that exists. */
  lineOf(path: readonly PropertyKey[]): number;
}

/** Parses YAML text; its syntax errors come back with their lines. Aliases are refused: they can blow up in size. */
export function readYaml(text: string): FileResult<YamlSource> {
  const lines = new LineCounter();
  // Its warnings would quote the file on stderr; what is wrong is told below.
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, logLevel: 'error' });
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => ({
      line: lines.linePos(error.pos[0]).line,
      message: error.message.split('\n')[0] ?? 'malformed YAML',
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
      const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return 1;
  };
  try {
    return { ok: true, value: { value: document.toJS({ maxAliasCount: 0 }), lineOf } };
  } catch {
    // What a `%YAML 1.1` directive brings back, such as merge keys.
    return { ok: false, problems: [{ line: 1, message: 'only YAML 1.2 is supported' }] };
  }
}

/** Reads YAML text against a schema; every issue comes back with the line it concerns. */
export function readYamlAs<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
): FileResult<{ readonly file: z.infer<Schema>; readonly source: YamlSource }> {
  const source = readYaml(text);
  if (!source.ok) return source;
  const parsed = schema.safeParse(source.value.value);
  if (parsed.success) return { ok: true, value: { file: parsed.data, source: source.value } };
  const problems = parsed.error.issues.map((issue) => ({
    line: source.value.lineOf(issue.path),
    message: `${issue.path.map(String).join('.') || 'the file'}: ${issue.message}`,
  }));
  return { ok: false, problems };
}
