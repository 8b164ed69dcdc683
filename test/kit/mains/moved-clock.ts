import { readFileSync, watchFile } from 'node:fs';

/**
 * Loaded before a process of ours (`--import`): its clock is as many milliseconds ahead as the file in `TEST_CLOCK` says,
 * which is looked at all the time, for a signal would end a process that does not listen to it yet. What measures time by
 * `performance.now()` is not moved, as where a machine's clock steps.
 */
const file = process.env.TEST_CLOCK ?? '';
const real = Date;
let aheadMs = 0;
const read = (): void => {
  aheadMs = Number(readFileSync(file, 'utf8')) || 0;
};
read();
watchFile(file, { interval: 50, persistent: false }, read);

const now = (): number => real.now() + aheadMs;
globalThis.Date = new Proxy(real, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
