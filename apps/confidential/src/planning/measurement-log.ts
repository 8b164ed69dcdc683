import { type Counts, countAttempt, type MeasuredAttempt, type Measurements, measurementsOf } from '@sotto/router';
import type { HealthPort } from '@sotto/state';

const hourMs = 3_600_000;
const windowHours = 24;

/** Counts attempts here, shares the counts, and reads back what all brokers counted in the last 24 hours. */
export class MeasurementLog {
  readonly #state: HealthPort;
  readonly #now: () => number;
  #unshared = new Map<string, number>();
  /** Hours that are over do not change any more. */
  readonly #settledHours = new Map<number, Counts>();
  measurements: Measurements = new Map();

  constructor(state: HealthPort, now: () => number) {
    this.#state = state;
    this.#now = now;
  }

  add(attempt: MeasuredAttempt): void {
    countAttempt(this.#unshared, attempt);
  }

  /** Shares what was counted and refreshes `measurements`. Off the hot path; rejects where the state is unavailable. */
  async exchange(): Promise<void> {
    const hour = Math.floor(this.#now() / hourMs);
    const counts = this.#unshared;
    this.#unshared = new Map();
    try {
      await this.#state.addMeasurements(hour, counts);
    } catch (error) {
      for (const [field, count] of counts) this.#unshared.set(field, (this.#unshared.get(field) ?? 0) + count);
      throw error;
    }
    const hours: Counts[] = [];
    for (let back = 0; back < windowHours; back += 1) hours.push(await this.#read(hour - back, back > 1));
    this.measurements = measurementsOf(hours);
    for (const old of this.#settledHours.keys()) if (old <= hour - windowHours) this.#settledHours.delete(old);
  }

  async #read(hour: number, settled: boolean): Promise<Counts> {
    const known = settled ? this.#settledHours.get(hour) : undefined;
    if (known !== undefined) return known;
    const counts = await this.#state.readMeasurements(hour);
    if (settled) this.#settledHours.set(hour, counts);
    return counts;
  }
}
