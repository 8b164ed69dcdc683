/** Whether a model id matches a pattern, in which `*` stands for any characters, also none and `/`. Linear in both lengths for each `*`. */
export function matchesPattern(pattern: string, id: string): boolean {
  const [head = '', ...parts] = pattern.split('*');
  const tail = parts.pop();
  if (tail === undefined) return pattern === id;
  if (!id.startsWith(head)) return false;
  let at = head.length;
  for (const part of parts) {
    // The first place leaves the most for the parts after it.
    const found = id.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return id.length - tail.length >= at && id.endsWith(tail);
}

export const matchesAny = (patterns: readonly string[], id: string): boolean =>
  patterns.some((pattern) => matchesPattern(pattern, id));
