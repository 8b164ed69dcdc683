interface Group<Item, Result> {
  readonly items: Item[];
  readonly done: Promise<Result>;
}

/** Does work for many callers at once, one run at a time. Items that come during a run wait, and all of them are in the next. */
export class GroupRun<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<Result>;
  readonly #most: number;
  /** The group that has not begun. */
  #next: Group<Item, Result> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @param most - A group with this many items is not extended. */
  constructor(run: (items: readonly Item[]) => Promise<Result>, most: number) {
    this.#run = run;
    this.#most = most;
  }

  /** Resolves to the result of the run that had these items, and rejects as it does. */
  add(items: readonly Item[]): Promise<Result> {
    const group = this.#next !== undefined && this.#next.items.length < this.#most ? this.#next : this.#begin();
    group.items.push(...items);
    return group.done;
  }

  #begin(): Group<Item, Result> {
    const items: Item[] = [];
    const done = this.#last.then(() => {
      if (this.#next === group) this.#next = undefined;
      return this.#run(items);
    });
    const group = { items, done };
    this.#next = group;
    this.#last = done.catch(() => {});
    return group;
  }
}
