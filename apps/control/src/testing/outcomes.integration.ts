import { type Refusal, Refused } from '../database/refused.ts';

/** Returns the result of work that is not refused. */
export async function done<Result>(work: Promise<Result>): Promise<Exclude<Result, Refused<Refusal>>> {
  const result = await work;
  if (result instanceof Refused) throw new Error(`refused: ${(result as Refused<Refusal>).refusal.why}`);
  return result as Exclude<Result, Refused<Refusal>>;
}

/** Returns why work was refused, or `done`. */
export const endOf = async (work: Promise<unknown>): Promise<string> => {
  const result = await work;
  return result instanceof Refused ? (result as Refused<Refusal>).refusal.why : 'done';
};
