import { lintSource } from '@secretlint/core';
import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import { type Finding, matched } from './finding.ts';

/**
 * The rules of Secretlint, without two kinds. One lets a comment in the text turn the others off. The other reports a whole URL
 * where only its password is secret.
 */
const secretRules = rules
  .filter(({ meta }) => !/rule-(?:filter-comments|basicauth|database-connection-string)$/.test(meta.id))
  .map((rule) => ({
    id: rule.meta.id,
    rule,
    options: rule.meta.id.endsWith('-aws') ? { enableIDScanRule: true } : {},
  }));

/** Finds keys, tokens and passwords: those of known services by Secretlint, others by the words before them. */
export async function findSecrets(text: string): Promise<Finding[]> {
  const source = { content: text, filePath: 'message.txt', ext: '.txt', contentType: 'text' } as const;
  const { messages } = await lintSource({
    source,
    options: { noPhysicFilePath: true, config: { rules: secretRules } },
  });
  const known = messages.map(({ range: [start, end] }) => withoutName(text.slice(start, end)));
  const assigned = [...matched(text, assignment)].filter(looksSecret);
  const certain = certainSecrets.flatMap((pattern) => [...matched(text, pattern)]);
  return [...known, ...certain, ...assigned]
    .filter(({ length }) => length >= 8)
    .map((value) => ({ kind: 'SECRET', value }));
}

/** Some rules report the whole assignment. The name before the value is not secret. */
const withoutName = (found: string): string =>
  /^[\w-]+["']?\s*(?:=>|[:=])\s*["']?([^\s"']{8,})["']?$/.exec(found)?.[1] ?? found;

const certainSecrets = [
  /(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g,
  /\bsotto_[a-z]+_(?=[\w-]{0,64}[A-Z0-9])[\w-]{16,}/g,
  /\bsk-[\w-]{20,}/g,
  /\bAIza[\w-]{35}/g,
  /\bhf_[A-Za-z0-9]{30,}/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]{1,20000}?-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g,
  /\b(?:Bearer|Basic) ([\w+/=.~-]{16,})/g,
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,64}:([^\s:/@]{4,128})@/g,
];

const assignment =
  /(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|credentials?)(?:[_-]\w{1,24})?["']?\s*(?::=|=>|[:=]|\bis\b)\s*["'`]?([^\s"'`,;<>(){}[\]$][^\s"'`,;<>(){}[\]]{7,255})(?=["'`\s,;)}\]]|$)/gi;

/** Whether an assigned value is one that somebody chose or drew, and not a name, a path or an example. */
function looksSecret(value: string): boolean {
  if (
    /^(?:\w+\.)+\w+$|^[a-z._-]+(?:\/[a-z._-]+)+$|^[/.~]|:\/|\?\.|^(?:your|my|example|changeme|placeholder|redacted|undefined|null|string)\b/i.test(
      value,
    )
  )
    return false;
  const classes = [/[a-z]/, /[A-Z]/, /\d/, /[^\w]/].filter((pattern) => pattern.test(value)).length;
  return classes >= 2 && /\d|[^\w.:-]/.test(value) && entropyOf(value) >= 2.8;
}

/** Shannon's entropy, in bits for each character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce((sum, count) => sum - (count / text.length) * Math.log2(count / text.length), 0);
}
