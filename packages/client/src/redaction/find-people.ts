import { type Finding, type FindingKind, matched } from './finding.ts';

/** Whether a word in lower case is a first name, or a family name. */
export interface NameLexicon {
  isFirst(word: string): boolean;
  isLast(word: string): boolean;
}

/** Finds people and what leads to them: names, addresses, numbers. Finds no name without its first letter in upper case. */
export function* findPeople(text: string, lexicon: NameLexicon): Generator<Finding> {
  for (const [kind, pattern, isValid] of patterns) {
    for (const value of matched(text, pattern)) if (isValid(value)) yield { kind, value };
  }
  yield* findNames(text, lexicon);
}

const always = (): boolean => true;
const digitsOf = (text: string): string => text.replace(/\D/g, '');

const patterns: readonly (readonly [FindingKind, RegExp, (value: string) => boolean])[] = [
  [
    'EMAIL',
    /(?<![\w.+-])[\w.+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}(?![\p{L}\p{N}])/gu,
    (value) => !isRole(value),
  ],
  // With its country code, or as North America writes it.
  ['PHONE', /(?<![\w.+])\+\d[\d ().\-/]{6,20}\d(?![\w])/g, (value) => isBetween(digitsOf(value).length, 8, 15)],
  ['PHONE', /(?<![\w.+-])(?:1[ -])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[.-]\d{4}(?![\w-])/g, always],
  [
    'PHONE',
    /\b(?:tel|phone|mobile|cell|fax|call|telefon|handy|mobil)\w*["']?\s{0,8}[.:=]{0,2}\s{0,8}["']?(0\d[\d ()/-]{6,16}\d)(?!\w)/gi,
    always,
  ],
  ['CARD', /(?<![\w.-])(?:[3-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,7}|3[47]\d{2}[ -]?\d{6}[ -]?\d{5})(?![\w-])/g, isCard],
  ['IBAN', /(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)/g, isIban],
  // A social security number of the USA.
  ['NUMBER', /(?<![\w.-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/g, always],
  ['IP', /(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.-])/g, isPublicIp],
  [
    'ADDRESS',
    /(?<!\w)\d{1,5}[A-Za-z]? (?:(?:North|South|East|West|[NSEW]\.?) )?(?:\p{Lu}[\p{L}'’.-]+ ){1,3}(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Way|Place|Pl|Square|Sq|Terrace|Parkway|Pkwy|Crescent|Close)\b(?:,? (?:Apt|Suite|Unit|Flat)\.? ?\w{1,5})?/gu,
    always,
  ],
  [
    'ADDRESS',
    /(?<!\p{L})\p{Lu}[\p{L}-]{0,40}(?:straße|strasse|str\.|weg|platz|allee|gasse) \d{1,4}[a-z]?(?!\w)/gu,
    always,
  ],
  [
    'ADDRESS',
    /(?<!\w)\d{1,4}(?: bis)?,? (?:rue|avenue|boulevard|place|chemin|allée|impasse) (?:de la |de l['’]|des |du |de |d['’])?\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+){0,3}/gu,
    always,
  ],
  [
    'ADDRESS',
    /(?<!\p{L})(?:Calle|Avenida|Plaza|Paseo|Via|Viale|Piazza|Rua) (?:de la |del |de |della |dei |da |do )?\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+){0,2},? (?:n\.?º ?)?\d{1,4}(?!\w)/gu,
    always,
  ],
];

/** Addresses of programs, which name no person. */
const isRole = (email: string): boolean => /^(?:git|no-?reply|do-?not-?reply|notifications?)@/i.test(email);

const isBetween = (value: number, least: number, most: number): boolean => value >= least && value <= most;

/** The check digit of ISO/IEC 7812 (Luhn). */
function isCard(text: string): boolean {
  const digits = [...digitsOf(text)].reverse().map(Number);
  const sum = digits.reduce((total, digit, at) => total + (at % 2 === 0 ? digit : digit * 2 - (digit > 4 ? 9 : 0)), 0);
  return isBetween(digits.length, 13, 19) && sum % 10 === 0;
}

/** The check digits of ISO 13616: the number in base 36, modulo 97, is 1. */
function isIban(text: string): boolean {
  const compact = text.replaceAll(' ', '');
  const moved = `${compact.slice(4)}${compact.slice(0, 4)}`;
  const number = moved.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return isBetween(compact.length, 15, 34) && BigInt(number) % 97n === 1n;
}

/** Leaves out networks that everybody has at home, and what looks like a version. */
function isPublicIp(text: string): boolean {
  const parts = text.split('.').map(Number);
  const [first = 0, second = 0] = parts;
  if (parts.some((part) => part > 255) || first === 0 || first === 10 || first === 127 || first >= 224) return false;
  if ((first === 172 && isBetween(second, 16, 31)) || (first === 192 && second === 168)) return false;
  return !(first === 169 && second === 254) && first > 9;
}

const word = String.raw`(?<!\p{L})\p{Lu}[\p{L}'’]{0,30}\p{Ll}(?:-\p{Lu}[\p{L}'’]{1,30}){0,3}`;
const fullName = new RegExp(
  String.raw`(?<![\p{L}\p{N}_.@/$-])${word}(?: (?:\p{Lu}\.|${word}|van|von|de|der|da|dos|del|di|la|bin|al)){0,3} ${word}(?![\p{L}\p{N}_(/=-])`,
  'gu',
);
/** Names by the words before them. */
const introduced = [
  String.raw`\b(?:Mr|Mrs|Ms|Mx|Dr|Prof|Herr|Herrn|Frau|Mme|Sr|Sra)\.? (${word}(?: ${word}){0,2})`,
  `^(?:Dear|Hi|Hello|Hallo|Liebe|Lieber|Bonjour|Hola) (${word}(?: ${word})?)[,!:]?$`,
  String.raw`\b(?:[Mm]y name is|[Ii]ch heiße|[Jj]e m['’]appelle|[Mm]e llamo) (${word}(?: ${word}){0,2})`,
  String.raw`(?:regards|wishes|thanks|cheers|sincerely|Grüßen|Grüße),?\n+(${word}(?: ${word}){0,2})\b`,
  // Git, mails.
  String.raw`(${word}(?:[ .]{1,2}${word}){1,3}) <[^\s<>@]+@[^\s<>]+>`,
  // Fields of records.
  String.raw`\b(?:first|last|full|family|given|sur|middle|customer|patient|contact|user|employee)[ _]?name["']?\s*[:=]\s*["']?(${word}(?: ${word}){0,3})`,
  String.raw`"(?:firstName|lastName|fullName|customerName|patientName|contactName|employeeName|displayName)"\s*:\s*"(${word}(?: ${word}){0,3})"`,
].map((source) => new RegExp(source, 'gmu'));

function* findNames(text: string, lexicon: NameLexicon): Generator<Finding> {
  for (const pattern of introduced)
    for (const value of matched(text, pattern)) {
      if (!notNames.has(value.toLowerCase())) yield { kind: 'NAME', value };
    }
  for (const value of matched(text, fullName)) {
    const name = nameIn(value.replace(/['’]s$/, '').split(' '), lexicon);
    if (name !== undefined) yield { kind: 'NAME', value: name };
  }
}

/** Words before a name may be part of its sentence: the name begins at a first name, or ends in a family name. */
function nameIn(words: readonly string[], { isFirst, isLast }: NameLexicon): string | undefined {
  const plain = words.map((each) => each.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase());
  const start = plain.findIndex((each, at) => at < words.length - 1 && isFirst(each));
  const last = plain.at(-1) ?? '';
  if (notFamilies.has(last)) return undefined;
  if (start !== -1) return words.slice(start).join(' ');
  return words.length === 2 && isLast(last) && !notNames.has(plain[0] ?? '') ? words.join(' ') : undefined;
}

/** Words that stand with an upper-case letter where a first name could stand. */
const notNames = new Set(
  'the a an this that these those in on at by for from with and or but if when while as to of is are was were new our your my his her their its no not all each every see use using add fix run test get set make call open san los saint mount lake fort port north south east west world there team everyone folks support madam sir'.split(
    ' ',
  ),
);

/** Words that follow a first name without being a family name: of interfaces, and of products. */
const notFamilies = new Set(
  'access api code complete desktop done file haiku model opus project server service sonnet test user'.split(' '),
);
