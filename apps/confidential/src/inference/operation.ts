import type { Metered } from '@sotto/money';
import type { AttemptEnd, MeasuredOutput, Route } from '@sotto/router';
import type { Operation as OperationName, ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type { AdmissionQuestion } from '../admission/admit.ts';
import type { FlowingAnswer, StreamEnd, StreamFlow } from '../answers/stream-to-client.ts';
import type { AttemptLimits } from '../attempts/attempt.ts';
import type { AbandonedAttempt, AttemptRun } from '../attempts/try-routes.ts';
import type { CallableProvider } from '../providers/provider-set.ts';
import type { Served } from '../settlement/served.ts';

/** An operation of the inference API as a value: how to read, try and answer its requests. `run` serves them. */
export interface Operation<Question extends AdmissionQuestion = AdmissionQuestion> {
  readonly name: OperationName;
  /** The operation's name in a sentence. Present if it accepts tickets only. */
  readonly ticketOnly?: string;
  /** Reads the request. Throws a `ServiceError` if it is invalid. */
  read(request: FastifyRequest): Question;
  /** Begins one attempt. It may be called again for the same route, with the renewed key of an enclave. */
  attempt(question: Question, context: AttemptContext): AttemptRun<Output>;
  /** Present if an answer's headers can leave before its output. Undefined for a question whose answer is no stream of events. */
  early?(question: Question): EarlyAnswer | undefined;
  /** Returns what a provider did for a client that left before any output. */
  abandoned(question: Question, attempt: AbandonedAttempt): Served;
}

/** An answer whose headers left before its output. */
export interface EarlyAnswer {
  readonly contentType: string;
  /** Returns the last frame of an answer that got no output. */
  errorFrame(identity: AnswerIdentity, error: ServiceError): string;
}

/** The names of one answer, the same in each of its attempts. */
export interface AnswerIdentity {
  /** 128 random bits. */
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly requestId: string;
}

export interface AttemptContext {
  readonly route: Route;
  readonly provider: CallableProvider;
  readonly limits: AttemptLimits;
  readonly identity: AnswerIdentity;
}

/** An attempt that has output: a stream that flows from here on, or a whole JSON answer. */
export type Output = StreamedOutput | WholeOutput;

interface AnyOutput {
  /** Returns what the meter needs once the answer is over. */
  served(timing: Timing): Served;
  /** Returns what the answer shows about the speed of its route. */
  measured(timing: Timing, metered: Metered): AttemptEnd;
}

export interface StreamedOutput extends AnyOutput {
  readonly stream: FlowingAnswer;
  /** True for a whole answer that is relayed as it comes. */
  readonly isWhole?: boolean;
  /** True if the broker ended the answer because it had more output than its hold allows. */
  isTooLarge?(): boolean;
  /** Returns the last frames, to send after the settlement. After those of an answer that is not whole, the connection breaks off. */
  lastFrames(end: Exclude<StreamEnd, 'client_left'>, metered: Metered): string | Buffer | undefined;
}

export interface WholeOutput extends AnyOutput {
  readonly stream?: undefined;
  /** Returns the JSON text of the answer, in pieces if it may be too large to copy. */
  pieces(metered: Metered): readonly (string | Buffer)[];
}

/** The timing of an answer, in ms. A whole answer has flowed in no time. */
export interface Timing extends StreamFlow {
  /** From the attempt's start to its first output; for a whole answer, to its end. */
  readonly tookMs: number;
}

/** Returns the output for measuring an answer's speed. */
export const measuredOutput = (
  { usage, estimated }: Metered,
  { bytes, mayHide }: Required<Pick<MeasuredOutput, 'bytes' | 'mayHide'>>,
): MeasuredOutput => ({
  tokens: estimated ? undefined : usage.completionTokens,
  reasoningTokens: usage.reasoningTokens,
  mayHide,
  bytes,
});
