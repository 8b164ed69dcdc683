import { type AnswerBlock, blocksOf } from '../answer-blocks.ts';
import { answerIdOf } from '../answer-id.ts';
import type { AnswerEnd } from '../answer-stream.ts';
import { type ChatBody, unreadable } from '../chat-body.ts';
import { brokenOff } from '../chat-failure.ts';
import type { JsonObject } from '../json.ts';
import { openSummary, sealSummary } from '../reasoning-envelope.ts';
import { type ChatAnswer, UnwritableAnswer } from '../translation.ts';
import { responseUsage } from './write-response.ts';
import { ResponseStream } from './write-stream.ts';

/** The item at the end of an input that asks for a compaction of the conversation before it. */
export const compactionTrigger = { type: 'compaction_trigger' } as const;

const prompt = `Summarise this conversation for a model that continues the task without seeing it. State what the user asked \
for and prefers, what was done and decided and why, what each file, command and result that still matters was, and what is \
left to do, with names and numbers as they are. Write the summary alone, and call no tool.`;

/** Turns a request into one for the summary of its conversation. Its tools stay, so that caches of the prompt hold. */
export const asksForSummary = ({ response_format: _, ...body }: ChatBody): ChatBody => ({
  ...body,
  messages: [...body.messages, { role: 'user', content: prompt }],
  ...(body.tools === undefined ? {} : { tool_choice: 'none' }),
});

/** Reads a compaction item as what the model is told. Throws for one of another service: all before it would be lost. */
export function readCompaction({ encrypted_content: sealed }: JsonObject, param: string): string {
  const summary = openSummary(sealed);
  if (summary !== undefined)
    return `The conversation before this was shortened. This is its summary. Continue from it.\n\n${summary}`;
  throw unreadable(
    `\`${param}\` is a summary that only the service which wrote it can read: begin a new conversation.`,
    param,
  );
}

const compactionItem = (answerId: string, summary: string): JsonObject => ({
  id: `cmp_${answerId}`,
  type: 'compaction',
  encrypted_content: sealSummary(summary),
});

const noSummary = 'The model wrote no summary of the conversation.';

/** Returns the item of a whole answer. Throws an `UnwritableAnswer` if the model wrote no summary. */
export function compactionOf({ id, choices: [choice] }: ChatAnswer): JsonObject {
  const summary = blocksOf(choice?.message)
    .flatMap((block) => (block.kind === 'text' ? block.text : []))
    .join('');
  if (summary === '') throw new UnwritableAnswer(noSummary);
  return compactionItem(answerIdOf(id), summary);
}

/** The most characters of the user's messages that stay beside the summary: those of the end. */
const keptChars = 80_000;

/** Writes the answer of `POST /v1/responses/compact`: the latest messages of the user as they were, and the summary. */
export function writeCompacted(answer: ChatAnswer, items: readonly JsonObject[]): object {
  const said = items.filter(({ type = 'message', role }) => type === 'message' && role === 'user');
  let left = keptChars;
  const kept = said.toReversed().filter((item) => {
    left -= JSON.stringify(item).length;
    return left >= 0;
  });
  return {
    id: `resp_${answerIdOf(answer.id)}`,
    object: 'response.compaction',
    created_at: answer.created,
    output: [...kept.toReversed(), compactionOf(answer)],
    usage: responseUsage(answer.usage),
  };
}

/** Writes a streamed summary as the events of a response that has a compaction item alone. */
export class CompactionStream extends ResponseStream {
  #summary = '';

  override onStart(): void {}

  override onText(): void {}

  override onEnd(block: AnswerBlock): void {
    if (block.kind === 'text') this.#summary += block.text;
  }

  protected override writeEnd({ usage }: AnswerEnd): void {
    if (this.#summary === '') {
      this.writeFailure({ ...brokenOff, message: noSummary });
      return;
    }
    this.addWhole(compactionItem(this.answerId, this.#summary));
    super.writeEnd({ finishReason: 'stop', usage });
  }
}
