/** When names end, the earliest first. All are kept equally long after their last use, so a name that is set again goes to the end. */
export type Endings = Map<string, number>;

export function endAt(endings: Endings, name: string, until: number): void {
  endings.delete(name);
  endings.set(name, until);
}

/** Takes out the names that have ended. */
export function* takeEnded(endings: Endings, now: number): Generator<string> {
  for (const [name, until] of endings) {
    if (until > now) return;
    endings.delete(name);
    yield name;
  }
}
