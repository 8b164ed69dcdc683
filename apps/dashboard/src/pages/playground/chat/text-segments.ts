/** A part of an answer: running text, or a block of code between fences. */
export type Segment =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly language: string; readonly text: string };

// Each part ends where no more of it can follow: what a model says must not keep the page busy.
const fence = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))[ \t]*(?![ \t])([^\s`]*)(?![^\s`])[^`]*$/;

/** Takes fenced code out of an answer. A block that is not closed yet, as in a stream, lasts to the end. */
export function segmentsOf(answer: string): readonly Segment[] {
  const segments: Segment[] = [];
  let lines: string[] = [];
  let open: { readonly marks: string; readonly language: string } | undefined;
  const close = (): void => {
    const text = lines.join('\n');
    if (open !== undefined) segments.push({ kind: 'code', language: open.language, text });
    else if (text.trim() !== '') segments.push({ kind: 'text', text: text.trim() });
    lines = [];
  };
  for (const line of answer.split('\n')) {
    const [, marks, language = ''] = fence.exec(line) ?? [];
    if (open === undefined && marks !== undefined) {
      close();
      open = { marks, language };
    } else if (open !== undefined && line.trim().startsWith(open.marks) && /^[`~]+$/.test(line.trim())) {
      close();
      open = undefined;
    } else lines.push(line);
  }
  close();
  return segments;
}
