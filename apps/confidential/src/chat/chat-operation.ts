import { hidesOutput, type Route } from '@sotto/router';
import { readJsonBody } from '@sotto/server';
import { errorEnvelope, withExactMembers } from '@sotto/wire';
import type { InferenceDependencies } from '../inference/deps.ts';
import type { EarlyAnswer, Operation } from '../inference/operation.ts';
import { servedByTokens } from '../settlement/served.ts';
import { beginChat, errorFrame, eventStream } from './chat-attempt.ts';
import { type ChatQuestion, readChatQuestion } from './chat-question.ts';

/** The members of a body whose schemas, digits and names go to the provider as they were written. */
const isPassedOn = (name: string): boolean =>
  name === 'tools' || name === 'response_format' || name === 'seed' || name.endsWith('_parameters');

const earlyStream: EarlyAnswer = {
  contentType: eventStream,
  errorFrame: ({ requestId }, error) => errorFrame(errorEnvelope(error, requestId)),
};

/** Chat in plain text, whole and streamed. */
export function chatOperation({
  admission: { view },
  measurements,
  providers,
}: Pick<InferenceDependencies, 'admission' | 'measurements' | 'providers'>): Operation<ChatQuestion> {
  /**
   * Estimates the output that a route may have produced in silence. A whole answer is produced in silence; a stream
   * hides only its reasoning.
   */
  const hiddenTokens = ({ chat, needs }: ChatQuestion, route: Route, silentMs: number): number =>
    chat.stream !== true || hidesOutput(route, needs) ? view.outputIn(route, silentMs) : 0;
  return {
    name: 'chat',
    read: ({ body: bytes }) => {
      const body = readJsonBody(bytes);
      return readChatQuestion(
        Buffer.isBuffer(bytes) ? withExactMembers(body, () => bytes.toString('utf8'), isPassedOn) : body,
        providers,
      );
    },
    attempt: (question, context) =>
      beginChat(question, context, {
        tokensPerByte: () => measurements.tokensPerByte(context.route.id),
        hiddenTokens: (silentMs) => hiddenTokens(question, context.route, silentMs),
      }),
    early: ({ chat }) => (chat.stream === true ? earlyStream : undefined),
    abandoned: (question, { route, tookMs }) =>
      servedByTokens(question, route, { producedBytes: 0, hiddenTokens: hiddenTokens(question, route, tookMs) }),
  };
}
