import type { Models, Translation } from '../translation.ts';
import { readMessagesRequest } from './read-request.ts';
import { writeMessage } from './write-message.ts';
import { MessageStream } from './write-stream.ts';

/** Translates a request of `POST /v1/messages`, and its answer. Throws `invalid_request`. */
export function translateMessages(value: unknown, models: Models): Translation {
  const { body, notes, names } = readMessagesRequest(value, models);
  return {
    body,
    notes,
    whole: (answer) => writeMessage(answer, names),
    stream: () => new MessageStream(body.model, names),
  };
}
