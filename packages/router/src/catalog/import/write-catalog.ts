import { Document, isMap, isPair, isScalar, isSeq, visit } from 'yaml';
import type { CatalogFileInput } from './import-models.ts';

/** Fields that read best on one line. */
const onOneLine: ReadonlySet<unknown> = new Set(['pricing', 'capabilities', 'supported_parameters']);

/** A catalog file as YAML text, with a comment at its head. The same file always makes the same text. */
export function writeCatalog(file: CatalogFileInput, comment: string): string {
  const document = new Document(file, { aliasDuplicateObjects: false });
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
