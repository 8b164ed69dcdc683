import { Redis } from 'ioredis';
import { Breaker, type BreakerOptions } from '../breaker.ts';
import { type Caller, type Guarded, type Membership, refusals } from '../membership/membership.ts';
import { shardPrefix } from '../shard.ts';
import { listReply } from '../steps/read-reply.ts';
import type { Argument, StepName } from '../steps/step.ts';
import { steps } from '../steps/steps.ts';
import { StateUnavailableError } from '../unavailable.ts';
import type { RedisConnection } from './connection.ts';
import { assembleScript, type Script } from './scripts/assemble-script.ts';

/** Scripts that are no step. */
const plainScripts = ['readKey', 'publishCatalog', 'replaceField', 'shareMeasurements', 'readMeasurements'] as const;

export type ScriptName = StepName | (typeof plainScripts)[number];
export const scriptNames: readonly ScriptName[] = [...(Object.keys(steps) as StepName[]), ...plainScripts];
/** Scripts for several requests (`step-batch.ts`) or shards (`shard-batch.ts`) in one call. */
const isBatch = (name: ScriptName): boolean => name in steps && steps[name as StepName].together !== undefined;
/** Takes the arguments as one array, because a call cannot spread a hundred thousand arguments. */
type Command = (...args: (Argument | readonly Argument[])[]) => Promise<unknown>;

/** Runs scripts and plain commands on one connection with one circuit breaker. */
export class ScriptRunner {
  readonly connection: RedisConnection;
  readonly membership: Membership;
  readonly #breaker: Breaker;
  readonly #scripts = new Map<ScriptName, Script & { readonly command: Command }>();
  readonly #timeoutMs: number;
  #gathering = false;
  #batches: (() => void)[] = [];

  /**
   * `onRefusal` is called with every error that Redis answers. `cause` says why Redis cannot be reached. `timeoutMs` limits the wait for
   * each answer.
   */
  constructor(
    connection: RedisConnection,
    membership: Membership,
    { timeoutMs, ...options }: Omit<BreakerOptions, 'threshold' | 'openMs'> & { readonly timeoutMs: number },
  ) {
    this.#timeoutMs = timeoutMs;
    this.connection = connection;
    this.membership = membership;
    this.#breaker = new Breaker({ threshold: 10, openMs: 500, ...options });
    for (const name of scriptNames) {
      const script = assembleScript(name);
      connection.defineCommand(`sotto_${name}`, { lua: script.lua, ...(isBatch(name) ? {} : { numberOfKeys: 1 }) });
      const defined: unknown = Reflect.get(connection, `sotto_${name}`);
      if (typeof defined !== 'function') throw new Error(`script ${name} was not defined`);
      this.#scripts.set(name, { ...script, command: defined.bind(connection) });
    }
  }

  /** Runs a script on one key. `before` stands in ARGV before the values that the script names. */
  async run(
    name: ScriptName,
    key: string,
    values: readonly Argument[],
    before: readonly Argument[] = [],
  ): Promise<unknown> {
    this.assertTakes(name, values);
    return this.#ask(() => {
      this.#gather();
      return this.#script(name).command(key, [...before, ...values]);
    });
  }

  /** Asserts that a script takes as many values. */
  assertTakes(name: ScriptName, { length }: readonly Argument[]): void {
    const { takes, takesMore } = this.#script(name);
    if (takesMore ? length < takes : length !== takes)
      throw new Error(`the script ${name} takes ${takes} values, not ${length}`);
  }

  /** Runs a script for several requests. `shards` must have one element in a cluster. */
  runBatch(name: ScriptName, shards: readonly number[], args: readonly Argument[]): Promise<unknown> {
    return this.#ask(() => this.#script(name).command(shards.length, shards.map(epochKey), args));
  }

  /** Whether the shards are on one server, so that one script can run on several of them. */
  get isSingle(): boolean {
    return this.connection instanceof Redis;
  }

  /** Whether Redis does not answer, so that only one call at a time tries and the others fail at once. */
  get isFailing(): boolean {
    return this.#breaker.isOpen;
  }

  /** Returns the error of one request of a batch, as if Redis had answered the whole call with it. */
  refusalOf(message: string): StateUnavailableError {
    return this.#breaker.refusalOf(message);
  }

  /**
   * Resolves once the kernel has the commands of this turn. Rejects if they may not have been written, and in a cluster, whose client
   * has its own connection to each node.
   */
  sent(): Promise<void> {
    const { connection } = this;
    return new Promise((resolve, reject) => {
      this.atTurnEnd(() => {
        if (this.isFailing || !(connection instanceof Redis) || connection.status !== 'ready')
          return void reject(notSent);
        // The callback of an empty write comes after everything that was written before.
        connection.stream.write('', (error) => (error == null ? resolve() : reject(notSent)));
      });
    });
  }

  /** Calls `send` at the end of this turn of the event loop. */
  atTurnEnd(send: () => void): void {
    this.#batches.push(send);
    this.#gather();
  }

  #ask<T>(call: () => Promise<T>): Promise<T> {
    return this.#breaker.run(() => inTime(call(), this.#timeoutMs));
  }

  #script(name: ScriptName): Script & { readonly command: Command } {
    const script = this.#scripts.get(name);
    if (script === undefined) throw new Error(`no script ${name}`);
    return script;
  }

  /** Sends the commands of one turn of the event loop in one write, because a system call costs more than a command. */
  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    // A cluster client has its own connection to each node.
    const stream = this.connection instanceof Redis ? this.connection.stream : undefined;
    stream?.cork();
    setImmediate(() => {
      const batches = this.#batches;
      this.#batches = [];
      for (const send of batches) send();
      this.#gathering = false;
      stream?.uncork();
    });
  }

  /**
   * Executes a step on a shard as this process's member. Returns the script's reply without the count of steps. Throws
   * `StateUnavailableError` if the shard refuses the step.
   */
  async step(
    name: ScriptName,
    shard: number,
    caller: Caller,
    values: readonly Argument[],
  ): Promise<readonly unknown[]> {
    const { client, epoch, acked, leaseUntil } = caller;
    const reply = await this.run(name, epochKey(shard), values, [client, epoch, acked, leaseUntil]);
    const [count, ...answer] = listReply(reply);
    return this.membership.take(shard, caller, count === 'refused' ? readRefusal(answer) : readCount(count, answer));
  }

  onShard(name: ScriptName, shard: number, values: readonly Argument[]): Promise<unknown> {
    return this.run(name, epochKey(shard), values);
  }

  /** Runs plain commands with the timeout and breaker of the scripts. */
  plain<T>(call: (connection: RedisConnection) => Promise<T>): Promise<T> {
    return this.#ask(() => {
      this.#gather();
      return call(this.connection);
    });
  }
}

/**
 * Limits the wait for an answer. If the process was blocked, the answer may have come, but not have been read. So this
 * reads what came before it gives up: Node runs timers before it reads, and reads before it runs immediates.
 */
function inTime<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new Error('Command timed out'));
    const timer = setTimeout(() => setImmediate(giveUp), timeoutMs);
    const over =
      <Value>(settle: (value: Value) => void) =>
      (value: Value): void => {
        clearTimeout(timer);
        settle(value);
      };
    answer.then(over(resolve), over(reject));
  });
}

const notSent = new StateUnavailableError('not written');

const epochKey = (shard: number): string => `${shardPrefix(shard)}epoch`;

const readCount = (count: unknown, answer: readonly unknown[]): Guarded<readonly unknown[]> => ({
  count: Math.abs(Number(count)),
  changed: Number(count) < 0 ? 1 : 0,
  answer,
});

export function readRefusal([reason, epoch]: readonly unknown[]): Guarded<readonly unknown[]> {
  const refused = refusals.find((known) => known === reason);
  if (refused === undefined) throw new StateUnavailableError('unexpected reply');
  return { refused, epoch: Number(epoch) };
}
