import { answerIdOf } from '../answer-id.ts';
import type { JsonObject } from '../json.ts';
import { requestObject } from '../request-fields.ts';
import type { Models, Translation } from '../translation.ts';
import { CompactionStream, compactionOf, compactionTrigger, writeCompacted } from './compaction.ts';
import type { KeptAnswers } from './kept-answers.ts';
import { readResponsesRequest } from './read-request.ts';
import { responseObject, standingAtEnd, writeResponse } from './write-response.ts';
import { ResponseStream } from './write-stream.ts';

export interface ResponsesOptions {
  readonly isCodex: boolean;
  /** The answers that a request may continue. */
  readonly kept: KeptAnswers;
  /** Whether answers are kept although a request says `store: false`. */
  readonly keepsAll?: boolean;
}

/** Translates a request of `POST /v1/responses`, and its answer. Throws `invalid_request`. */
export function translateResponses(value: unknown, models: Models, options: ResponsesOptions): Translation {
  const { isCodex, kept, keepsAll = false } = options;
  const { body, notes, names, asked, items, compacts } = readResponsesRequest(value, models, kept);
  const requested = body.model;
  if (compacts) {
    return {
      body,
      notes,
      whole: (answer) => {
        const { created: createdAt, model, usage } = answer;
        const state = { answerId: answerIdOf(answer.id), createdAt, model, output: [compactionOf(answer)] };
        return responseObject(state, standingAtEnd('stop', usage), asked);
      },
      stream: () => new CompactionStream({ asked, names, requested, isCodex, onWhole: () => undefined }),
    };
  }
  const onWhole = (id: string, output: readonly object[]): void => {
    if (keepsAll || asked.store !== false) kept.keep(id, [...items, ...(output as readonly JsonObject[])]);
  };
  return {
    body,
    notes,
    whole: (answer) => {
      const response = writeResponse(answer, asked, names);
      onWhole(response.id, response.output);
      return response;
    },
    stream: () => new ResponseStream({ asked, names, requested, isCodex, onWhole }),
  };
}

/**
 * Answers a request that only prepares a conversation (`generate: false`): keeps its items, and returns the events of an empty
 * response. No model is asked. Throws `invalid_request`.
 */
export function prepareResponse(value: unknown, models: Models, kept: KeptAnswers, id: string): string {
  const { body, asked, items } = readResponsesRequest(value, models, kept);
  const state = { answerId: id, createdAt: 0, model: body.model, output: [] };
  const events = (['in_progress', 'completed'] as const).map((status) => ({
    type: status === 'completed' ? 'response.completed' : 'response.created',
    response: responseObject(state, { status }, asked),
  }));
  kept.keep(`resp_${id}`, items);
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

/** Translates a request of `POST /v1/responses/compact`, and its answer. Throws `invalid_request`. */
export function translateCompaction(value: unknown, models: Models, { kept }: ResponsesOptions): Translation {
  const { stream: _, text: __, ...asked } = requestObject(value);
  const { items } = readResponsesRequest(asked, models, kept);
  const input = [...items, compactionTrigger];
  const { body, notes } = readResponsesRequest({ ...asked, previous_response_id: null, input }, models, kept);
  return {
    body,
    notes,
    whole: (answer) => writeCompacted(answer, items),
    stream: () => {
      throw new Error('a compaction is not streamed');
    },
  };
}
