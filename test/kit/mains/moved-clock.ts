import { readFileSync, watchFile } from 'node:fs';

/**
 * Loaded into our processes with `--import`. Moves the clock ahead by the milliseconds in the file `TEST_CLOCK`, which
 * is read again and again. A signal would end a process that has no handler yet. `performance.now()` is not moved, as
 * when a machine's clock steps.
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
