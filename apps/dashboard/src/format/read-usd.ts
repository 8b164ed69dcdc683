/** An amount as somebody typed it, in USD; null for nothing, undefined for what is no amount. */
export function readUsd(typed: string): number | null | undefined {
  const text = typed.trim().replace(/^\$\s*/, '');
  if (text === '') return null;
  return /^\d+(?:\.\d+)?$|^\.\d+$/.test(text) ? Number(text) : undefined;
}
