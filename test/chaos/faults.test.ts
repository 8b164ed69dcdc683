import { afterAll, beforeAll, expect, it } from 'vitest';
import { noteSkip } from '../kit/skips.ts';
import { operatorAccount } from '../money/world.ts';
import { faults } from './faults/index.ts';
import { openRig, type Rig } from './rig.ts';
import { goThrough, newHistory } from './under-fault.ts';

let rig: Rig | undefined;
const history = newHistory();

beforeAll(async () => {
  rig = await openRig('one fault after the other under load');
});
afterAll(async () => {
  await rig?.stop();
});

it.each(faults)(
  '$name',
  async (fault) => {
    const context = rig;
    if (context === undefined) return;
    const missing = fault.missing?.(context);
    if (missing !== undefined) return noteSkip(`“${fault.name}” under load`, `${missing}.`);
    const { recoveredMs, outcomes } = await goThrough(context, history, [fault]);
    console.log(`${fault.name}: served again after ${recoveredMs} ms; ${JSON.stringify(outcomes)}`);
  },
  90_000,
);

it('in the end the audit is clean, and nobody but the callers paid for anything', async () => {
  if (rig === undefined) return;
  expect(await rig.service.runControl(['audit'])).toMatchObject({
    code: 0,
    output: expect.stringContaining('clean: to the nano-dollar'),
  });
  for (const name of ['shortfall', 'suspense'] as const) expect(await operatorAccount(rig.service, name)).toBe(0n);
});
