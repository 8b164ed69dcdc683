import { StateUnavailableError } from '@sotto/state';
import type { Random } from '../../kit/random.ts';

/** A process that sends calls. After a crash it receives no answers. */
export interface Process {
  readonly name: string;
  isAlive: boolean;
}

interface Message {
  readonly from: Process;
  readonly to: 'Redis' | 'Postgres';
  run(): void;
  reply(): void;
  fail(): void;
  /** Whether it waits where it arrived, as a statement does for a lock. */
  waits(): boolean;
  state: 'sent' | 'carried out';
  isAnswered: boolean;
}

/** Every call in flight. The simulation decides what becomes of each: nothing arrives automatically. */
export class Network {
  readonly #messages: Message[] = [];
  readonly #random: Random;
  /** Unexpected errors that a call threw where it was carried out. */
  readonly defects: unknown[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  get size(): number {
    return this.#messages.length;
  }

  /**
   * Carries the calls of one process. Each call stays here until it is delivered, lost or repeated, and while `waits` says that
   * a lock keeps it from being carried out.
   */
  carrier(from: Process, to: Message['to'], waits = () => false): <T>(run: () => T) => Promise<T> {
    return <T>(run: () => T): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        let outcome: { value: T } | { error: unknown } | undefined;
        const message: Message = {
          from,
          to,
          waits,
          state: 'sent',
          isAnswered: false,
          run: () => {
            try {
              const value = run();
              outcome ??= { value };
            } catch (error) {
              if (!(error instanceof StateUnavailableError)) this.defects.push(error);
              outcome ??= { error };
            }
            message.state = 'carried out';
          },
          reply: () => {
            if (!from.isAlive || outcome === undefined) return;
            if ('value' in outcome) resolve(outcome.value);
            else reject(outcome.error);
          },
          fail: () => {
            if (from.isAlive) reject(new StateUnavailableError('lost'));
          },
        };
        this.#messages.push(message);
      });
  }

  /** Moves one message. Usually the call is carried out or answered. */
  move(faults: { readonly lose: number; readonly late: number; readonly repeat: number }): void {
    // Prefers older messages, but sometimes a new one overtakes them.
    const free = this.#messages.filter(({ state, waits }) => state === 'carried out' || !waits());
    const message = free[Math.floor(free.length * this.#random.next() ** 3)];
    if (message === undefined) return;
    const at = this.#messages.indexOf(message);
    if (message.state === 'carried out') {
      if (!this.#random.chance(faults.repeat)) this.#messages.splice(at, 1);
      if (message.isAnswered) {
        message.run();
        return;
      }
      message.isAnswered = true;
      if (this.#random.chance(faults.lose)) message.fail();
      else message.reply();
      return;
    }
    if (!message.isAnswered && this.#random.chance(faults.late)) {
      // The sender gives up. The message may still arrive.
      message.isAnswered = true;
      message.fail();
      return;
    }
    if (this.#random.chance(faults.lose)) {
      this.#messages.splice(at, 1);
      if (!message.isAnswered) message.fail();
      return;
    }
    message.run();
    if (message.isAnswered) this.#messages.splice(at, 1);
  }

  /**
   * Breaks the connections to Redis. Calls in flight are lost. Calls that were carried out are answered now or never: a
   * process receives nothing from an old connection once it uses a new one.
   */
  cut(): void {
    for (const message of this.#messages.splice(0)) {
      if (message.to !== 'Redis') {
        this.#messages.push(message);
        continue;
      }
      if (message.isAnswered) continue;
      if (message.state === 'carried out' && this.#random.chance(0.5)) message.reply();
      else message.fail();
    }
  }

  /** Carries out and answers everything that no lock keeps waiting, in the order in which it was sent. */
  settle(): void {
    for (const message of this.#messages.splice(0)) {
      if (message.state === 'sent' && message.waits()) {
        this.#messages.push(message);
        continue;
      }
      if (message.state === 'sent') message.run();
      if (!message.isAnswered) message.reply();
    }
  }
}
