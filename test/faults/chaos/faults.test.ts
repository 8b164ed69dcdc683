import { noteSkip } from '@sotto/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { operatorAccount } from '../../kit/books.ts';
import { openRig, type Rig } from './rig.ts';
import { faults, goThrough, newHistory } from './under-fault.ts';

let rig: Rig | undefined;
const history = newHistory();

beforeAll(async () => {
  rig = await openRig('one fault after the other under load');
});
afterAll(async () => {
  await rig?.stop();
});

it.for(faults)('$name', { timeout: 90_000 }, async (fault, context) => {
  if (rig === undefined) return context.skip('no Redis');
  const missing = fault.missing?.(rig);
  if (missing !== undefined) {
    noteSkip(`“${fault.name}” under load`, `${missing}.`);
    return context.skip(missing);
  }
  const { recoveredMs, outcomes } = await goThrough(rig, history, [fault]);
  console.log(`${fault.name}: served again after ${recoveredMs} ms; ${JSON.stringify(outcomes)}`);
});

it('in the end the audit is clean, and only the callers paid', async (context) => {
  if (rig === undefined) return context.skip('no Redis');
  expect(await rig.service.runControl(['audit'])).toMatchObject({
    code: 0,
    output: expect.stringContaining('clean: to the nano-dollar'),
  });
  for (const name of ['shortfall', 'suspense'] as const) expect(await operatorAccount(rig.service, name)).toBe(0n);
});
