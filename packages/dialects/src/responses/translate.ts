import type { Models, Translation } from '../translation.ts';
import { readResponsesRequest } from './read-request.ts';
import { writeResponse } from './write-response.ts';
import { ResponseStream } from './write-stream.ts';

/** Translates a request of `POST /v1/responses`, and its answer. Throws `invalid_request`. */
export function translateResponses(value: unknown, models: Models, isCodex: boolean): Translation {
  const { body, notes, names, asked } = readResponsesRequest(value, models);
  return {
    body,
    notes,
    whole: (answer) => writeResponse(answer, asked, names),
    stream: () => new ResponseStream({ asked, names, requested: body.model, isCodex }),
  };
}
