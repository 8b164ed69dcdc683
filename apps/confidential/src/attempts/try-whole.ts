import type { AnswerReader, AnswerReading, UnsupportedRequest, UpstreamRequest } from '@sotto/providers';
import type { Route } from '@sotto/router';
import type { InferenceRequest } from '../inference-request.ts';
import type { CallableProvider } from '../providers/provider-set.ts';
import type { Served } from '../settlement/request-settlement.ts';
import type { AttemptFailure } from './attempt.ts';
import { JsonAttempt, type JsonResult } from './json-attempt.ts';
import { type AbandonedAttempt, type TriedAndServed, unsupportedAttempt } from './try-routes.ts';

/** How an operation asks for a whole answer. */
export interface WholeQuestion<Answer> {
  /** What one provider is asked, and what reads its answer; or why it cannot be asked. */
  ask(
    route: Route,
    provider: CallableProvider,
  ): { readonly request: UpstreamRequest; readonly reader: AnswerReader<Answer> } | UnsupportedRequest;
  /** A larger answer is not believed, unless `tooLarge` says what it means. */
  readonly maxBytes: number;
  tooLarge?(route: Route): AttemptFailure;
  /** What a provider did for a client that left before the answer. */
  abandoned(attempt: AbandonedAttempt): Served;
}

export type WholeReading<Answer> = Extract<AnswerReading<Answer>, { ok: true }>;

/** Tries the plan for one whole JSON answer; undefined where the client has left. Throws the caller's error. */
export function tryWhole<Answer>(
  inference: InferenceRequest,
  { ask, maxBytes, tooLarge, abandoned }: WholeQuestion<Answer>,
): Promise<TriedAndServed<WholeReading<Answer>> | undefined> {
  return inference.try<WholeReading<Answer>>((route, provider, hasSuccessor) => {
    const asked = ask(route, provider);
    if ('unsupported' in asked) return unsupportedAttempt(asked);
    const { adapter, upstream, entry } = provider;
    let attempt: JsonAttempt<Answer> | undefined;
    const result = new Promise<JsonResult<Answer>>((resolve) => {
      attempt = new JsonAttempt({
        adapter,
        limits: inference.limitsOf(entry.timeouts, hasSuccessor),
        reader: asked.reader,
        maxBytes,
        tooLarge: tooLarge?.(route),
        onResult: resolve,
      });
      attempt.start(upstream, asked.request);
    }).then((read) => (read.ok ? { ok: true as const, success: read.reading } : read));
    return { result, abort: () => attempt?.abort() };
  }, abandoned);
}
