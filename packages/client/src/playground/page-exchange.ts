import { answerFrom } from '../answer.ts';
import type { Exchange } from '../private/private-exchange.ts';
import { type PlaygroundStanding, standingPath } from './standing.ts';

/** The headers of the service that the page reads. */
const passed = /^(?:content-type|retry-after|x-(?:request|router|ratelimit)-[\w-]+)$/;

/**
 * Carries out the requests of the page, and tells it what was verified. It passes on only headers that the page reads. A browser
 * obeys many others: a malicious service could set cookies for this machine, redirect, or have reports sent elsewhere.
 */
export const pageExchange = (exchange: Exchange, standing: () => PlaygroundStanding): Exchange => ({
  async ask(asked) {
    if (asked.method === 'GET' && asked.path === standingPath) return answerFrom(Response.json(standing()));
    const answer = await exchange.ask(asked);
    return { ...answer, headers: answer.headers.filter(([name]) => passed.test(name)) };
  },
});
