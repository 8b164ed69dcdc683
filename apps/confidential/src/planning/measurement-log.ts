import { randomBytes } from 'node:crypto';
import { type MeasuredAttempt, type Measurements, MeasurementTallies, TextDensities, windowHours } from '@sotto/router';
import { type HealthPort, hourOf, MeasurementFollower } from '@sotto/state';

/** At most this many records are sent at once, so that Redis is not held up. */
const batchRecords = 200;

/** Counts attempts, shares the counts, and reads back the counts of all brokers for the last 24 hours. */
export class MeasurementLog {
  readonly #state: HealthPort;
  readonly #now: () => number;
  readonly #tallies = new MeasurementTallies(() => randomBytes(6).toString('base64url'));
  readonly #follower: MeasurementFollower;
  readonly #densities = new TextDensities();

  constructor(state: HealthPort, now: () => number) {
    this.#state = state;
    this.#now = now;
    this.#follower = new MeasurementFollower(state, now);
  }

  get measurements(): Measurements {
    return this.#follower.measurements;
  }

  add(routeId: string, attempt: MeasuredAttempt): void {
    this.#tallies.count(hourOf(this.#now()), routeId, attempt);
    if (attempt.tokensPerByte !== undefined) this.#densities.add(routeId, attempt.tokensPerByte);
  }

  /** Output tokens that a byte of a route's text is likely to have. */
  tokensPerByte(routeId: string): number {
    return this.#densities.tokensPerByte(routeId);
  }

  /**
   * Shares the counts and refreshes `measurements`, off the hot path. Rejects if the state is unavailable. The counts
   * are then kept by their hour and shared later.
   */
  async exchange(): Promise<void> {
    try {
      await this.#share();
    } finally {
      await this.#follower.refresh();
    }
  }

  async #share(): Promise<void> {
    const hour = hourOf(this.#now());
    // An hour that this clock has left may come again if the clock is set back a little.
    this.#tallies.forget(
      (counted, isShared) => counted <= hour - windowHours || (isShared && Math.abs(counted - hour) > 1),
    );
    for (let batch = this.#tallies.take(batchRecords); batch; batch = this.#tallies.take(batchRecords)) {
      try {
        await this.#state.shareMeasurements(batch);
      } catch (error) {
        this.#tallies.giveBack(batch);
        throw error;
      }
    }
  }
}
