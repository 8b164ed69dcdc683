import { type ClientErrorCode, clientErrors } from '@sotto/client';
import { type ErrorType, errorNotes, errorTable, type UsageError, usageErrorNotes } from '@sotto/wire';
import { code, generated, table } from './markdown.ts';

const intro = `# Errors

Find out what an error means, what you can do about it, and whether a retry helps.

Every answer that is not a success has this body, on both origins:

\`\`\`json
{
  "error": {
    "message": "\`max_tokens\` must be at least 1.",
    "type": "invalid_request",
    "code": "invalid_request",
    "param": "max_tokens",
    "request_id": "req_4f0c"
  }
}
\`\`\`

- Branch on \`type\`. SDKs for OpenAI's API tell errors apart by \`code\`. It has the same value, except that a conversation that is too long has OpenAI's \`context_length_exceeded\`.
- \`param\` is the dotted path of the field at fault, or \`null\`.
- \`request_id\` is also in the header \`x-request-id\`. Give it to the operator when you report a problem.

If a provider fails after streaming has begun, the status is already 200. The last event is then \`data: {"error": {…}}\`, without \`choices\`, and \`[DONE]\` is missing. The connection closes before the end of the body, so that a client that reads no \`error\` notices, too.

Routes of OAuth under \`/v1/connect\` answer with the errors that OAuth and OpenID Connect define.

## Retries

"Yes" means that the same request may succeed later without a change. Before you retry:

- Wait for the seconds in \`retry-after\`, if the header is there.
- Do not retry automatically if \`x-should-retry\` is \`false\`. The first request may have been served and charged, or a retry cannot help. SDKs for OpenAI's API obey this header.
- A ticket is spent by the request that used it. Get a new ticket for the retry. A refusal before that, such as 409 or 415, leaves the ticket valid. \`x-should-retry\` is \`false\` with 409 because the same body fails again: correct it and use the ticket.`;

const statuses = Object.entries(errorTable) as [ErrorType, (typeof errorTable)[ErrorType]][];

const usageIntro = `## Errors of usage

A row of \`GET /v1/usage\` has one of these classes in \`error\` if a provider was tried and the request failed or was cancelled. A request that was refused before that has no row. The class says less than the answer, because control must not learn about content. An attempt in \`failed_attempts\` has one of the first three. There, \`provider\` is also a refusal of the request, after which another provider was tried.`;

const usageErrors = Object.entries(usageErrorNotes) as [UsageError, (typeof usageErrorNotes)[UsageError]][];

const clientIntro = `## Errors of the private client

\`@sotto/client\` throws \`ClientError\` for what it finds itself, before it sends anything or instead of showing an answer. Its \`code\` is one of these:`;

const clientCodes = Object.entries(clientErrors) as [ClientErrorCode, string][];

/** Builds the page of all error types, by status. */
export const errorsPage = (): string =>
  [
    generated,
    intro,
    '## Types',
    table(
      ['Status', 'Type', 'When', 'What to do', 'Retry'],
      statuses
        .toSorted(([, a], [, b]) => a.status - b.status)
        .map(([type, { status, retryable }]) => [
          String(status),
          code(type),
          errorNotes[type].when,
          errorNotes[type].remedy,
          retryable ? 'yes' : 'no',
        ]),
    ),
    usageIntro,
    table(
      ['Class', 'When', 'What to do'],
      usageErrors.map(([name, { when, remedy }]) => [code(name), when, remedy]),
    ),
    clientIntro,
    table(
      ['Code', 'Message'],
      clientCodes.map(([name, message]) => [code(name), message]),
    ),
  ]
    .join('\n\n')
    .concat('\n');
