interface Event {
  readonly at: number;
  /** Orders events at the same time: the one that was scheduled first runs first. */
  readonly order: number;
  readonly happen: () => void;
}

/** The pending events, earliest first, in a binary heap. It is also the simulation's clock. */
export class Timeline {
  readonly #heap: Event[] = [];
  #planned = 0;
  /** In ms since the day's start. */
  now = 0;

  at(at: number, happen: () => void): void {
    const event = { at, order: this.#planned, happen };
    this.#planned += 1;
    let index = this.#heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(index, parent)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** Runs all events in order until none is left. */
  run(): void {
    for (let next = this.#takeFirst(); next !== undefined; next = this.#takeFirst()) {
      this.now = next.at;
      next.happen();
    }
  }

  #takeFirst(): Event | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    this.#heap[0] = last;
    let index = 0;
    for (;;) {
      let least = index;
      for (const child of [2 * index + 1, 2 * index + 2]) if (this.#isBefore(child, least)) least = child;
      if (least === index) return first;
      this.#swap(index, least);
      index = least;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return false;
    return a.at === b.at ? a.order < b.order : a.at < b.at;
  }

  #swap(one: number, other: number): void {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return;
    this.#heap[one] = b;
    this.#heap[other] = a;
  }
}
