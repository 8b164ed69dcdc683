import { type Mutant, mutantsAt } from '../mutant.ts';

const proof = 'packages/client/src/proof';
const redaction = 'packages/client/src/redaction';
const ownClient = 'test/contract/own-client';
const proven: Mutant['tests'] = [`${ownClient}/proven-tool-calls.test.ts`];
const receipts: Mutant['tests'] = [`${proof}/receipt-proof.test.ts`];
const redacted: Mutant['tests'] = [`${ownClient}/redaction.test.ts`];
const restored: Mutant['tests'] = [`${redaction}/redact-exchange.test.ts`];

/** A tool call passes without its proof, or a value leaves the machine or does not come back. */
export const guardMutants: readonly Mutant[] = [
  ...mutantsAt({ folder: 'guards', file: `${proof}/prove-tool-calls.ts`, tests: proven }, [
    ['other_success', 'answer.status >= 400', 'answer.status !== 200'],
    ['whole', 'read === undefined || !isOnlyShown(read)', 'false'],
  ]),
  ...mutantsAt({ folder: 'guards', file: `${proof}/tool-call-gate.ts`, tests: proven }, [
    ['written_anew', 'sseFrame(chunk === undefined ? event : JSON.stringify(chunk))', 'sseFrame(event)'],
    ['second_choice', '!this.holds && ', ''],
  ]),
  ...mutantsAt({ folder: 'guards', file: `${proof}/shown-fields.ts`, tests: proven }, [
    ['other_letters', 'names.has(name) || value', 'name !== "tool_calls" || value'],
  ]),
  ...mutantsAt({ folder: 'guards', file: `${proof}/receipt-proof.ts`, tests: proven }, [
    ['cut', ' && complete && signed', ' && signed'],
    ['status', ' && complete && signed === status', ' && complete'],
  ]),
  ...mutantsAt({ folder: 'guards', file: `${proof}/receipt-proof.ts`, tests: receipts }, [
    ['restarted', '[before, now?.keySet]', '[now?.keySet]'],
  ]),
  ...mutantsAt({ folder: 'guards', file: `${redaction}/find-secrets.ts`, tests: [`${redaction}/detector.test.ts`] }, [
    ['comments', 'filter-comments|', ''],
  ]),
  ...mutantsAt({ folder: 'guards', file: `${redaction}/restore-answer.ts`, tests: restored }, [
    ['split', 'const open = this.#placeholders.openAtEnd(text);', 'const open = 0;'],
    ['escaped', "name.endsWith(' arguments') ? inJson", "name.endsWith(' arguments') ? undefined"],
  ]),
  ...mutantsAt({ folder: 'guards', file: `${redaction}/redact-exchange.ts`, tests: redacted }, [
    ['conversations', 'new Placeholders(secret, conversationOf(request))', "new Placeholders(secret, '')"],
    ['middle_of_word', "if (kind === 'SECRET' || kind === 'WORD') return escaped;", ''],
  ]),
  ...mutantsAt({ folder: 'guards', file: `${redaction}/map-texts.ts`, tests: redacted }, [
    ['arguments', "within === 'arguments' ? mapArguments(value, map) : map(value)", 'map(value)'],
  ]),
];
