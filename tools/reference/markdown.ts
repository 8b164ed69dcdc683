/** Marks a page as generated. Readers do not see it. */
export const generated = '<!-- Written by `npm run docs`. Change the code that it is made from instead. -->';

/** Formats a Markdown table. Cells must not contain line breaks. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

export const code = (text: string): string => `\`${text}\``;
