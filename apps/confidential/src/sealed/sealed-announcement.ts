import type { IncomingHttpHeaders } from 'node:http';
import { readRequestPolicy } from '@sotto/router';
import {
  asObject,
  headerNames,
  parseJson,
  parseRequest,
  type ReasoningSelection,
  reasoningSelection,
  type SealedQuestion,
  ServiceError,
  sealedQuestionSchema,
} from '@sotto/wire';

/** The header `x-router-e2ee` of a sealed request, as read. */
export interface SealedAnnouncement {
  readonly asked: SealedQuestion;
  readonly reasoning: ReasoningSelection;
}

/** Reads the header `x-router-e2ee`. Throws if it is invalid. */
export function readAnnouncement(headers: IncomingHttpHeaders): SealedAnnouncement {
  const header = asObject(parseJson(String(headers[headerNames.e2ee])));
  if (header === undefined) {
    throw invalid('The header `x-router-e2ee` must be a JSON object: `family`, `model`, `provider`, `stream`.');
  }
  const asked = parseRequest(sealedQuestionSchema, header);
  const { family, stream } = asked;
  const reasoning = reasoningSelection(asked);
  if (reasoning.enabled === false) {
    // Each provider has its own way to switch thinking off, and only the client can write it into a sealed body.
    throw invalid('Encrypted requests switch thinking off by `reasoning_effort: "none"`.', 'reasoning.enabled');
  }
  assertPinned(asked);
  if (family === 'chutes' && headers['x-e2e-stream'] !== String(stream)) {
    throw invalid('The header `x-e2e-stream` differs from `stream` in the header `x-router-e2ee`.', 'stream');
  }
  return { asked, reasoning };
}

/** The body is encrypted to one provider, so the policy must name it. Another provider could not read the body. */
function assertPinned({ provider }: SealedQuestion): void {
  const policy = readRequestPolicy(provider);
  if (!policy.ok) throw new ServiceError(policy.refusal.type, policy.refusal);
  if (policy.value.only?.length !== 1) {
    throw invalid(
      '`provider` must name the one provider that the body is sealed for: `{"only": ["acme"]}`.',
      'provider',
    );
  }
}

const invalid = (message: string, param?: string): ServiceError =>
  new ServiceError('invalid_request', { message, param });
