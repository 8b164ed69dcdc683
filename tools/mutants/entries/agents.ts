import { type Mutant, mutantsAt } from '../mutant.ts';

const client = 'packages/client/src';
const conversations = `${client}/conversations`;
const proxy = `${client}/proxy`;
const endless: Mutant['tests'] = [`${proxy}/endless-answers.test.ts`];
const capped: Mutant['tests'] = [`${proxy}/run-meter.test.ts`, 'test/contract/own-client/run-costs.test.ts'];

/** A conversation goes to the wrong provider, a run costs more than its cap, or an answer fills the memory. */
export const agentMutants: readonly Mutant[] = [
  ...mutantsAt(
    {
      folder: 'agents',
      file: `${conversations}/conversations.ts`,
      tests: [`${conversations}/conversations.test.ts`],
    },
    [
      ['ambiguous', 'longest === undefined || isAmbiguous ? 0', 'longest === undefined ? 0'],
      ['branch-without-answer', "some(({ role }) => role === 'assistant')", 'some(() => true)'],
      ['branch-shares', '{ ...longest.conversation }', 'longest.conversation'],
      ['not-forgotten', 'now - usedAt < rememberedMs', 'true'],
    ],
  ),
  ...mutantsAt({ folder: 'agents', file: `${conversations}/turns.ts`, tests: [`${conversations}/turns.test.ts`] }, [
    ['any-model', 'digestOf([body.model, hasTools])', 'digestOf([hasTools])'],
    ['turn-alone', 'digestOf([digest, role, said])', 'digestOf([role, said])'],
  ]),
  ...mutantsAt(
    { folder: 'agents', file: `${conversations}/kept-policy.ts`, tests: [`${conversations}/kept-policy.test.ts`] },
    [
      ['weaker-class', 'served.privacyClass !== strongest || ', ''],
      ['no-floor', ', minimum_privacy: strongest }', ' }'],
      ['below-own-floor', 'if (comparePrivacy(strongest, floor) < 0) return undefined;', ''],
      ['own-order', 'order !== undefined || only', 'only'],
      ['fallbacks-forbidden', '!preferences.provider_allow_fallbacks || ', ''],
    ],
  ),
  ...mutantsAt(
    { folder: 'agents', file: `${conversations}/warm-exchange.ts`, tests: [`${conversations}/warm-exchange.test.ts`] },
    [
      ['other', " || provider === 'other'", ''],
      ['unplanned', 'if (!isUnplanned(refusal))', 'if (true)'],
      ['failed-stream', 'if (events.some(isFailure)) orElse();', ''],
      ['cut-stream', 'if (!isWhole) orElse();', ''],
      ['second-try', 'original: asked.original ?? asked.body', 'original: asked.original'],
    ],
  ),
  ...mutantsAt({ folder: 'agents', file: `${proxy}/run-meter.ts`, tests: capped }, [
    ['no-cap', 'if (bound > left) return', 'if (false) return'],
    ['running-chats', 'this.#cap - this.#totals.cost - this.#reserved', 'this.#cap - this.#totals.cost'],
    ['lost-is-free', 'if (answer.status !== sentStatus) forget();', 'forget();'],
    ['encrypted', "asObject(body.provider)?.minimum_privacy === 'e2ee'", 'false'],
    ['old-prices', 'if (this.#cap !== undefined && isDearer(charge, prices)) this.#prices.expire();', ''],
    ['prices-for-ever', 'freshMs: 60_000', 'freshMs: Number.POSITIVE_INFINITY'],
    ['no-prices', 'listed === undefined || listed.prices.length === 0', 'listed === undefined'],
  ]),
  ...mutantsAt({ folder: 'agents', file: `${client}/bounded-body.ts`, tests: endless }, [
    ['endless-stream', "if (length > maxAnswerBytes) throw new ClientError('answer_too_large');", ''],
    ['endless-whole', 'readBounded(body, maxAnswerBytes, signal)', 'readBounded(body, 2 * maxAnswerBytes, signal)'],
  ]),
  ...mutantsAt({ folder: 'agents', file: `${proxy}/rewritten-answer.ts`, tests: endless }, [
    ['endless-reason', 'if (!(error instanceof ClientError)) throw error;', 'throw error;'],
  ]),
];
