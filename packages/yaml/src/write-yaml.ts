import { Document, isMap, isPair, isScalar, isSeq, visit } from 'yaml';

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
