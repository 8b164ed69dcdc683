import { beforeAll } from 'vitest';
import { describeInBothPlanes } from '../../kit/both-planes.ts';
import type { Service } from '../../kit/service.ts';
import { type PaymentWorld, type Person, signUp, startPaymentWorld, Till } from './world.ts';

/** What the tests of billing work with; only within tests and hooks. */
export interface BillingSuite {
  readonly service: Service;
  readonly world: PaymentWorld;
  readonly till: Till;
  /** Somebody new. */
  person(): Promise<Person>;
}

/** Runs tests of billing against the real service, with local stand-ins for the payment services. */
export async function describeBilling(
  name: string,
  tests: (suite: BillingSuite) => void,
  options: { readonly planes?: readonly ('one' | 'two')[] } = {},
): Promise<void> {
  let world: PaymentWorld | undefined;
  await describeInBothPlanes(
    name,
    async () => {
      world = await startPaymentWorld();
      return world.setup;
    },
    (planes) => {
      const present = (): PaymentWorld => {
        if (world === undefined) throw new Error('the world is there within tests and hooks only');
        return world;
      };
      let till: Till | undefined;
      beforeAll(() => {
        till = new Till(planes.service, present());
      });
      tests({
        get service() {
          return planes.service;
        },
        get world() {
          return present();
        },
        get till() {
          if (till === undefined) throw new Error('the till is there within tests and hooks only');
          return till;
        },
        person: () => signUp(planes.service),
      });
    },
    options,
  );
}
