/**
 * A decimal number as text, multiplied by a power of ten: exact, without an exponent or needless zeros. Lists of models
 * write prices of one token as text (`"0.00000015"`, `"1.5e-7"`); this makes them prices of a million.
 * Returns undefined for text that is no number of at least 0, or longer than any price.
 */
export function shiftDecimal(text: string, places: number): string | undefined {
  const parts = /^\+?(\d{0,60})(?:\.(\d{0,60}))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text.trim());
  if (parts === null) return undefined;
  const [, whole = '', fraction = '', exponent = '0'] = parts;
  if (whole === '' && fraction === '') return undefined;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent) + places;
  if (Math.abs(point) > 200) return undefined;
  const padded = digits.padStart(digits.length - Math.min(point, 0), '0').padEnd(Math.max(point, 0), '0');
  const at = Math.max(point, 0);
  const left = padded.slice(0, at).replace(/^0+(?=\d)/, '');
  const right = padded.slice(at).replace(/0+$/, '');
  return `${left === '' ? '0' : left}${right === '' ? '' : `.${right}`}`;
}
