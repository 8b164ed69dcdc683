import { listReply } from '../steps/read-reply.ts';
import type { Argument } from '../steps/step.ts';
import type { ScriptName, ScriptRunner } from './script-runner.ts';

interface Waiting {
  readonly shard: number;
  readonly values: readonly Argument[];
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs a script on all shards that were asked for in one turn of the event loop, in one call if they are on one server. The script
 * is no step of a member (`step-batch.ts`). `common` returns the value that all shards share. At most `most` shards have one call, so
 * that it does not block Redis for long. A shard whose records are damaged fails alone.
 */
export class ShardBatch {
  readonly #runner: ScriptRunner;
  readonly #name: ScriptName;
  readonly #common: () => Argument;
  readonly #most: number;
  #waiting: Waiting[] = [];

  constructor(runner: ScriptRunner, name: ScriptName, { common, most }: { common: () => Argument; most: number }) {
    this.#most = most;
    this.#runner = runner;
    this.#name = name;
    this.#common = common;
  }

  /** Returns what the script answers for a shard. */
  ask(shard: number, values: readonly Argument[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#runner.assertTakes(this.#name, values);
      this.#waiting.push({ shard, values, resolve, reject });
      if (this.#waiting.length === 1) this.#runner.atTurnEnd(() => this.#sendAll());
    });
  }

  #sendAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const most = this.#runner.isSingle ? this.#most : 1;
    for (let at = 0; at < waiting.length; at += most) void this.#send(waiting.slice(at, at + most));
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
