/**
 * The most that one JSON body may weigh, in units of 30 ns of parsing. An entry weighs 1, a text, a list or an object 8
 * more, and a name 24. So a body may hold a million numbers, such as tokens to embed, 110,000 texts, or 40,000 names.
 * Each keeps the parser busy for 10 to 30 ms.
 */
export const maxJsonWeight = 1_000_000;

const quote = 0x22;
const backslash = 0x5c;
/** By byte, outside of texts. A text has two quotation marks. */
const weights = new Uint8Array(256);
for (const [character, weight] of Object.entries({ ',': 1, '"': 4, '[': 8, '{': 8, ':': 16 })) {
  weights[character.charCodeAt(0)] = weight;
}
const textWeight = 8;
const mostWeight = 16;
/** No valid JSON weighs more for its bytes: `"":"",` weighs 33. */
const leastBytesEach = 6 / 33;

/** What was counted of a body, up to a place outside of its texts. */
interface Count {
  at: number;
  weight: number;
  /** How many bytes follow after this body. */
  after: number;
  /** How many more bytes may be looked at one by one. */
  steps: number;
}

/** As many looks at a byte as do not matter beside parsing 180 kB. */
const fewSteps = 32 * 1024;

/**
 * Whether JSON text stays within the bound above, told without parsing it. It reads nothing of a body below 180 kB. Of
 * others it skips long texts, then weighs what is left as if there were no texts, and looks closer only where that is
 * too much.
 */
export function isJsonWithinBounds(bytes: Buffer): boolean {
  const count: Count = { at: 0, weight: 0, after: 0, steps: fewSteps };
  if (isSafe(0, bytes.length)) return true;
  const isBounded = weighOutsideTexts(bytes, count);
  if (isBounded !== undefined) return isBounded;
  if (isBoundedWithTexts(bytes, count)) return true;
  count.steps = Number.POSITIVE_INFINITY;
  return weighOutsideTexts(bytes, count) === true;
}

/** Whether JSON texts stay within the bound together, such as those that a request carries as strings. */
export function areJsonTextsWithinBounds(texts: readonly string[]): boolean {
  let after = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (isSafe(0, after)) return true;
  let weight = 0;
  for (const text of texts) {
    const bytes = Buffer.from(text);
    after -= bytes.length;
    const count: Count = { at: 0, weight, after, steps: Number.POSITIVE_INFINITY };
    if (weighOutsideTexts(bytes, count) !== true) return false;
    weight = count.weight;
  }
  return true;
}

/** Whether so many more bytes cannot weigh too much beside what was counted. */
const isSafe = (weight: number, bytes: number): boolean => weight + bytes / leastBytesEach <= maxJsonWeight;

/** Counts on. Tells whether the whole body is within the bound; undefined once there are no steps left. */
function weighOutsideTexts(bytes: Buffer, count: Count): boolean | undefined {
  for (; count.at < bytes.length; count.at += 1, count.steps -= 1) {
    if (count.steps < 0) return undefined;
    const byte = bytes[count.at] ?? 0;
    if (byte === quote) {
      if (isSafe(count.weight, bytes.length - count.at + count.after)) return true;
      const end = textEnd(bytes, count);
      if (end === undefined) return undefined;
      count.at = end;
      count.weight += textWeight;
    } else count.weight += weights[byte] ?? 0;
    if (count.weight > maxJsonWeight) return false;
  }
  return true;
}

/** Beyond this length a native search finds the end of a text faster than a look at each byte. */
const shortText = 48;

/** Where the closing quote of the text is that begins here, or the body ends; undefined once there are no steps left. */
function textEnd(bytes: Buffer, count: Count): number | undefined {
  for (let at = count.at + 1; count.steps >= 0; count.steps -= shortText) {
    const near = Math.min(bytes.length, at + shortText);
    while (at < near) {
      if (bytes[at] === quote) return at;
      at += bytes[at] === backslash ? 2 : 1;
    }
    const found = bytes.indexOf(quote, at);
    if (found === -1) return bytes.length;
    let slashes = 0;
    while (found - slashes > at && bytes[found - slashes - 1] === backslash) slashes += 1;
    if (slashes % 2 === 0) return found;
    at = found + 1;
  }
  return undefined;
}

/** By two bytes, which takes half of the look-ups. */
const pairWeights = new Uint8Array(0x10000);
for (let pair = 0; pair < pairWeights.length; pair += 1) {
  pairWeights[pair] = (weights[pair & 0xff] ?? 0) + (weights[pair >> 8] ?? 0);
}
/** Between two looks at how much there is. */
const blockPairs = 4096;

/** Whether the body stays within the bound even if all that is inside of its texts counted, from here on. */
function isBoundedWithTexts(bytes: Buffer, count: Count): boolean {
  // Two bytes at a time take an even address: one byte before them and one behind them count as the heaviest.
  const from = count.at + ((bytes.byteOffset + count.at) % 2);
  const pairs = new Uint16Array(bytes.buffer, bytes.byteOffset + from, (bytes.length - from) >> 1);
  let weight = count.weight + 2 * mostWeight;
  for (let start = 0; start < pairs.length; start += blockPairs) {
    if (isSafe(weight, bytes.length - from - 2 * start)) return true;
    const end = Math.min(pairs.length, start + blockPairs);
    for (let at = start; at < end; at += 1) weight += pairWeights[pairs[at] ?? 0] ?? 0;
    if (weight > maxJsonWeight) return false;
  }
  return true;
}
