import { randomUUID } from 'node:crypto';
import { type AttemptOutcome, failoverTable, type Penalty } from '@sotto/router';
import * as z from 'zod';
import { maxMeasurementRecords, measurementPageRecords, measurementsKeptHours } from '../bounds.ts';
import type { HealthPort, MeasurementPage } from '../ports/index.ts';
import { listReply, readJson } from '../steps/read-reply.ts';
import { StateUnavailableError } from '../unavailable.ts';
import type { ScriptRunner } from './script-runner.ts';

const penaltiesKey = 'sotto:penalties';
/** Longer than any penalty lasts. Penalties of removed routes expire with the last one given. */
const penaltiesTtlS = 3600;
/** The hash tag keeps the keys of all hours in one slot of a cluster. */
const measurementsKey = (hour: number): string => `sotto:{measurements}:${hour}`;
const measurementsTtlS = measurementsKeptHours * 3600;

const penaltySchema = z.object({
  kind: z.enum(Object.keys(failoverTable) as AttemptOutcome[]),
  strikes: z.int(),
  lastStrikeAt: z.number(),
  expiresAt: z.number(),
});

type PenaltyStep = (current: Penalty | undefined) => Penalty;

/** Most attempts of an update that conflicts with other processes. */
const maxTries = 10;

/** `announce` is called after a penalty has changed. */
export function redisHealth(runner: ScriptRunner, announce: () => void): HealthPort {
  const update = async (key: string, steps: readonly PenaltyStep[]): Promise<void> => {
    let current = (await runner.plain((redis) => redis.hget(penaltiesKey, key))) ?? '';
    for (let tries = 0; tries < maxTries; tries += 1) {
      const replacement = steps.reduce<Penalty | undefined>(
        (penalty, step) => step(penalty),
        readJson(current, penaltySchema),
      );
      const next = JSON.stringify(replacement);
      // An attempt that began before the last strike changes nothing, and a provider that is down fails hundreds of those.
      if (next === current) return;
      const reply = await runner.run('replaceField', penaltiesKey, [key, current, next, penaltiesTtlS]);
      if (reply === 1) return announce();
      current = String(reply);
    }
    throw new StateUnavailableError('penalty contended');
  };
  // A provider that goes down fails all its requests at once. Updates of a key that arrive during another one wait and run as one
  // update, because they would otherwise conflict with each other.
  const underway = new Map<string, Promise<void>>();
  const waiting = new Map<string, { readonly steps: PenaltyStep[]; readonly done: Promise<void> }>();
  const start = (key: string, steps: readonly PenaltyStep[]): Promise<void> => {
    waiting.delete(key);
    const done = update(key, steps).finally(() => {
      if (underway.get(key) === done) underway.delete(key);
    });
    underway.set(key, done);
    return done;
  };

  return {
    async readPenalties() {
      const fields = await runner.plain((redis) => redis.hgetall(penaltiesKey));
      const penalties = new Map<string, Penalty>();
      for (const [key, text] of Object.entries(fields)) {
        const penalty = readJson(text, penaltySchema);
        if (penalty !== undefined) penalties.set(key, penalty);
      }
      return penalties;
    },

    updatePenalty(key, next) {
      const batch = waiting.get(key);
      if (batch !== undefined) {
        batch.steps.push(next);
        return batch.done;
      }
      const ahead = underway.get(key);
      if (ahead === undefined) return start(key, [next]);
      const steps = [next];
      const go = (): Promise<void> => start(key, steps);
      const done = ahead.then(go, go);
      waiting.set(key, { steps, done });
      return done;
    },

    async shareMeasurements({ hour, source, records }) {
      const fields = [...records].flatMap(([routeId, record]) => [measurementField(source, routeId), record]);
      // The random name distinguishes a new hour from one that was lost and created again.
      const bounds = [measurementsTtlS, maxMeasurementRecords, randomUUID()];
      if (fields.length > 0) await runner.run('shareMeasurements', measurementsKey(hour), [...bounds, ...fields]);
    },

    async readMeasurements(hour, cursor) {
      const [begun = '', since = '0'] = cursor?.split(':') ?? [];
      const limit = measurementPageRecords;
      const reply = listReply(await runner.run('readMeasurements', measurementsKey(hour), [begun, since, limit]));
      const [name, last, fields, found] = reply;
      const [names, texts] = [listReply(fields), listReply(found)];
      const records = names.flatMap((field, at) => readMeasurementField(String(field), texts[at]));
      return { records, cursor: `${name}:${last}`, isLast: names.length < limit };
    },
  };
}

const measurementField = (source: string, routeId: string): string => `${source}|${routeId}`;

function readMeasurementField(field: string, record: unknown): MeasurementPage['records'][number][] {
  const bar = field.indexOf('|');
  return typeof record === 'string' ? [{ source: field.slice(0, bar), routeId: field.slice(bar + 1), record }] : [];
}
