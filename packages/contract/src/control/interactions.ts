import { answerInteractionSchema, interactionAnswerSchema, interactionDoneAnswerSchema } from '@sotto/wire';
import { contracts } from '../contract.ts';

/** The page on which a person allows or denies an app. */
export const interactionContracts = contracts({
  'GET /v1/connect/interactions/{uid}': {
    operationId: 'readInteraction',
    summary: 'What an app asks for',
    description: 'In the browser where the request began, for the account that opens it first.',
    credentials: ['session'],
    params: { uid: { note: 'As the address of the consent page has it.' } },
    status: 200,
    answer: interactionAnswerSchema,
    returns: 'The request.',
    errors: ['not_found', 'conflict', 'invalid_request'],
  },
  'POST /v1/connect/interactions/{uid}': {
    operationId: 'answerInteraction',
    summary: 'Allow or deny',
    description: 'The browser goes on to `redirect_to`, and from there back to the app.',
    credentials: ['session'],
    params: { uid: { note: 'As the address of the consent page has it.' } },
    body: answerInteractionSchema,
    status: 200,
    answer: interactionDoneAnswerSchema,
    returns: 'Where to go on.',
    examples: { body: { decision: 'allow', credit_limit_usd: 5 } },
    errors: ['not_found', 'conflict'],
  },
});
