import { sentenceOf } from '../orders/sentences.ts';

const sentences: Readonly<Record<string, string>> = {
  paid: 'The last automatic top-up was paid.',
  expired: 'The last automatic top-up could not be completed in time.',
  monthly_limit: 'The next automatic top-up would exceed the monthly limit.',
  limit: 'The next automatic top-up would exceed a limit of this deployment.',
  package_gone: 'The package is not offered any more. Choose another.',
};

/** How an automatic top-up went, or what holds it back, for people. */
export const autoTopUpSentence = (code: string): string => sentences[code] ?? sentenceOf(code);
