import { type AttemptOutcome, failoverTable, outcomeOfStatus, type Penalty, strike } from '@sotto/router';

/** A key of a provider, as the headers of a call carry it. */
export interface ProviderKey {
  /** The environment variable with the key. Undefined for a provider that takes calls without one. */
  readonly variable: string | undefined;
  readonly weight: number;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
}

export interface KeyRingDependencies {
  /** Unix ms. */
  readonly now: () => number;
  /** Returns a number from 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  /** Called when the provider has refused a key and another one takes its place for a while. */
  readonly onSetAside: (key: ProviderKey, outcome: AttemptOutcome) => void;
}

/**
 * The keys of one provider. Each call takes one at random, by weight and by nothing else: a provider must not be able to tell from the
 * key which calls belong together. A key that the provider refused is set aside for as long as a route would be demoted.
 */
export class KeyRing {
  readonly #deps: KeyRingDependencies;
  #keys: readonly ProviderKey[];
  #aside = new Map<string, Penalty>();

  constructor(keys: readonly ProviderKey[], deps: KeyRingDependencies) {
    this.#keys = keys;
    this.#deps = deps;
  }

  /** Takes other keys for later calls. A key that stays keeps its time aside. */
  replace(keys: readonly ProviderKey[]): void {
    this.#keys = keys;
    const kept = new Set(keys.map(idOf));
    this.#aside = new Map([...this.#aside].filter(([id]) => kept.has(id)));
  }

  /**
   * Returns the key of a call. Of keys that are all set aside, it is the one whose time ends first: a call without a key would fail in
   * any case.
   */
  take(): ProviderKey {
    const usable = this.#usable([]);
    const [first, ...others] =
      usable.length > 0 ? usable : this.#keys.toSorted((a, b) => this.#until(a) - this.#until(b));
    if (first === undefined) throw new Error('a provider without keys');
    return usable.length === 0 ? first : this.#drawn([first, ...others]);
  }

  /**
   * Sets a key aside if an answer refuses it, and returns another one for the same call. `tried` are the keys that the call has been
   * sent with. Undefined: the answer says nothing about the key, or no other one is left.
   */
  afterAnswer(status: number, tried: readonly ProviderKey[], startedAt: number): ProviderKey | undefined {
    const outcome = outcomeOfStatus(status);
    const key = tried.at(-1);
    if (key === undefined || this.#keys.length < 2 || outcome === undefined || !refusesKey.has(outcome))
      return undefined;
    const { now, onSetAside } = this.#deps;
    const id = idOf(key);
    const known = this.#aside.get(id);
    const penalty = strike(known, { kind: outcome, startedAt, now: now() });
    this.#aside.set(id, penalty);
    if (penalty !== known) onSetAside(key, outcome);
    const others = this.#usable(tried);
    return others.length === 0 ? undefined : this.#drawn(others);
  }

  /** Unix ms. */
  get now(): number {
    return this.#deps.now();
  }

  #usable(tried: readonly ProviderKey[]): readonly ProviderKey[] {
    const now = this.#deps.now();
    return this.#keys.filter((key) => !tried.includes(key) && this.#until(key) <= now);
  }

  #until(key: ProviderKey): number {
    return this.#aside.get(idOf(key))?.expiresAt ?? 0;
  }

  #drawn(keys: readonly ProviderKey[]): ProviderKey {
    let left = this.#deps.random() * keys.reduce((sum, { weight }) => sum + weight, 0);
    const drawn = keys.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    const key = drawn ?? keys.at(-1);
    if (key === undefined) throw new Error('drawn from no keys');
    return key;
  }
}

/** Answers that are about the key: another one may be accepted. */
const refusesKey: ReadonlySet<AttemptOutcome> = new Set(
  (Object.keys(failoverTable) as AttemptOutcome[]).filter(
    (outcome) => failoverTable[outcome].penalizes === 'provider' || outcome === 'rate_limited',
  ),
);

const idOf = ({ headers }: ProviderKey): string => headers.join('\n');
