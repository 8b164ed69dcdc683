import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectCivil, type Load, startLoad, untilReadiness, untilServed } from '../../kit/load.ts';
import { Random } from '../../kit/random.ts';
import { type OwnStage, startOwnStage } from '../../kit/stage/own-stage.ts';

/** The duration: `SOTTO_FIRE_MINUTES`, or long enough to kill every process a few times. */
const minutes = Number(process.env.SOTTO_FIRE_MINUTES ?? 0.75);
const seed = Number(process.env.SOTTO_FIRE_SEED ?? Date.now() % 1_000_000);

let stage: OwnStage | undefined;

beforeAll(async () => {
  stage = await startOwnStage('random kills under load', { toBeKilled: true });
});
afterAll(async () => {
  await stage?.stop();
});

it(
  'random kills of every process, every few seconds: in the end the audit is clean',
  async (context) => {
    if (stage === undefined) return context.skip('no Redis');
    const { service, account, redis, postgres } = stage;
    const random = new Random(seed);
    const killed = new Map<string, number>();
    const victims = {
      broker: async () => {
        await service.broker.kill9();
        service.broker.start();
      },
      control: async () => {
        await service.control.kill9();
        service.control.start();
      },
      redis: async () => {
        await redis.kill9();
        await redis.restart();
      },
      postgres: async () => {
        await postgres.kill9();
        await postgres.restart();
      },
    };
    // Repeats small charges, so that the balance lasts for any duration.
    const load: Load = startLoad(stage, { counts: 1000 });
    try {
      await untilServed(load);
      for (const end = performance.now() + minutes * 60_000; performance.now() < end; ) {
        const name = random.weighted({ broker: 3, control: 3, redis: 1, postgres: 1 });
        killed.set(name, (killed.get(name) ?? 0) + 1);
        await victims[name]();
        await new Promise((resolve) => setTimeout(resolve, 500 + random.below(4000)));
      }
      await untilReadiness(service, 'control', 'ready');
      await untilReadiness(service, 'broker', 'ready');
      await untilServed(load);
    } finally {
      await load.stop();
    }
    const said = `seed ${seed}, killed ${JSON.stringify([...killed])}, ${load.sent.length} requests`;
    expectCivil(load.sent);
    // A busy machine takes longer to start what was killed, and refuses requests meanwhile.
    expect(load.sent.filter(({ called }) => called.complete).length, said).toBeGreaterThan(load.sent.length / 20);
    await service.settled(account).catch((failure: Error) => {
      throw new Error(`${failure.message}; ${said}`);
    });
    const audit = await service.runControl(['audit']);
    expect(audit, said).toMatchObject({ code: 0, output: expect.stringContaining('clean: to the nano-dollar') });
    const shortfall = await service.pool.query(
      "select 1 from ledger_entries where ledger_account in ('shortfall', 'suspense')",
    );
    expect(shortfall.rowCount, said).toBe(0);
  },
  minutes * 60_000 + 180_000,
);
