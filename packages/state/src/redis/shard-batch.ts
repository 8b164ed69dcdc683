import { type Argument, type BatchName, listReply, type ScriptRunner } from './script-runner.ts';

interface Waiting {
  readonly shard: number;
  readonly values: readonly Argument[];
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs a script on all shards that were asked for in one turn of the event loop, in one call if they are on one server. The script
 * is no step of a member (`step-batch.ts`). `common` returns the value that all shards share. A shard whose records are damaged fails
 * alone.
 */
export class ShardBatch {
  readonly #runner: ScriptRunner;
  readonly #name: BatchName;
  readonly #common: () => Argument;
  #waiting: Waiting[] = [];

  constructor(runner: ScriptRunner, name: BatchName, common: () => Argument) {
    this.#runner = runner;
    this.#name = name;
    this.#common = common;
  }

  /** Returns what the script answers for a shard. */
  ask(shard: number, values: readonly Argument[] = []): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ shard, values, resolve, reject });
      if (this.#waiting.length === 1) this.#runner.atTurnEnd(() => this.#sendAll());
    });
  }

  #sendAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const calls = this.#runner.isSingle ? [waiting] : waiting.map((each) => [each]);
    for (const call of calls) void this.#send(call);
  }

  /** Never rejects. */
  async #send(asked: readonly Waiting[]): Promise<void> {
    try {
      const shards = asked.map(({ shard }) => shard);
      const args = [this.#common(), ...asked.flatMap(({ values }) => values)];
      const answers = listReply(await this.#runner.runBatch(this.#name, shards, args));
      for (const [at, { resolve, reject }] of asked.entries()) {
        const answer = answers[at];
        const [kind, message] = Array.isArray(answer) ? answer : [];
        if (kind === 'error') reject(this.#runner.refusalOf(String(message)));
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }
}
