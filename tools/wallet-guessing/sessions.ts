/**
 * How well an operator links the requests of one session by what settlements say. Agents repeat their conversation: the next prompt is the last
 * one, its answer and a tool's result, and the provider caches the last prompt. So counts link requests, whatever pays for them. Quiet settlements
 * have only the charge and the minute.
 */
import { around, Random } from '../../test/kit/random.ts';

/** What the operator sees of a request. */
export const views = ['counts', 'charge', 'minute'] as const;
export type View = (typeof views)[number];

interface Request {
  readonly session: number;
  /** Of the session. */
  readonly place: number;
  readonly at: number;
  readonly minute: number;
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
  readonly cost: number;
}

/** USD per million tokens. */
const price = { input: 3, cached: 0.3, output: 15 };
/** Providers cache whole blocks of tokens. */
const blockTokens = 128;
const blocks = (tokens: number): number => Math.floor(tokens / blockTokens) * blockTokens;
const largestPrompt = 180_000;
/** The median of a tool's result in tokens, and its spread. */
const toolResult = [900, 1.1] as const;

/** Sessions that begin within the same hour, on one model. */
function requestsOf(sessions: number, random: Random): Request[] {
  const requests: Request[] = [];
  for (let session = 0; session < sessions; session += 1) {
    let [at, prompt, before] = [random.next() * 60, Math.round(around(random, 16_000, 0.25)), 0];
    const count = 20 + random.below(40);
    for (let place = 0; place < count; place += 1) {
      const completion = Math.max(20, Math.round(around(random, 250, 0.9)));
      const cached = place > 0 && random.chance(0.85) ? blocks(before) : 0;
      const cost = ((prompt - cached) * price.input + cached * price.cached + completion * price.output) / 1e6;
      requests.push({ session, place, at, minute: Math.floor(at), prompt, cached, completion, cost });
      before = prompt;
      prompt += completion + Math.round(around(random, ...toolResult));
      at += (4 + completion / 60 + around(random, 4, 0.8)) / 60;
      // The agent summarizes.
      if (prompt > largestPrompt) [prompt, before] = [24_000, 0];
    }
  }
  return requests.sort((a, b) => a.at - b.at);
}

/** The logarithm of how likely one request follows another, but for a constant. */
function follows(a: Request, b: Request, view: View): number {
  const wait = b.minute - a.minute;
  if (wait < 0 || wait > 4) return Number.NEGATIVE_INFINITY;
  let score = -0.8 * wait;
  if (view === 'charge') score -= 0.5 * (Math.log(b.cost / a.cost) / 0.8) ** 2;
  if (view !== 'counts') return score;
  const grown = b.prompt - a.prompt - a.completion;
  if (grown < 0) return Number.NEGATIVE_INFINITY;
  if (b.cached > 0) score += b.cached === blocks(a.prompt) ? 6 : -12;
  return score - 0.5 * (Math.log((grown + 1) / toolResult[0]) / toolResult[1]) ** 2;
}

/** The share of requests that are linked to an earlier one of their own session. The same seed gives the same share. */
function linkedShare(sessions: number, view: View, seed: number): number {
  const random = new Random(seed);
  const requests = requestsOf(sessions, random);
  let [right, asked] = [0, 0];
  for (const later of requests) {
    if (later.place === 0) continue;
    asked += 1;
    let [highest, found, alike] = [Number.NEGATIVE_INFINITY, -1, 0];
    for (const earlier of requests) {
      const score = earlier === later ? Number.NEGATIVE_INFINITY : follows(earlier, later, view);
      if (score === Number.NEGATIVE_INFINITY || score < highest) continue;
      alike = score > highest ? 1 : alike + 1;
      if (score > highest || random.below(alike) === 0) found = earlier.session;
      highest = score;
    }
    if (found === later.session) right += 1;
  }
  return right / asked;
}

/** The threat model's cell: the mean over runs, more of them where each has few sessions. */
export function linkedCell(sessions: number, view: View): string {
  const runs = Math.max(2, 200 / sessions);
  let sum = 0;
  for (let seed = 1; seed <= runs; seed += 1) sum += linkedShare(sessions, view, seed);
  return `${Math.round((100 * sum) / runs)} %`;
}
