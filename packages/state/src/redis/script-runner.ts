import { parseJson } from '@sotto/wire';
import { Redis } from 'ioredis';
import type { z } from 'zod';
import { Breaker, type BreakerOptions } from '../breaker.ts';
import { type Guarded, type Membership, refusals } from '../membership/membership.ts';
import { shardPrefix } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';
import type { RedisConnection } from './connection.ts';
import { assembleScript } from './scripts/assemble-script.ts';

const shardScripts = [
  'cancel',
  'readKey',
  'peek',
  'readOwnHolds',
  'book',
  'forget',
  'reserve',
  'leave',
  'beginEpoch',
  'admitDeclared',
  'openEpoch',
  'readBooks',
  'discardEpoch',
  'putWallet',
  'putKey',
  'removeKey',
  'putWorkspace',
  'putBudget',
  'removeBudget',
  'mint',
  'acknowledge',
  'watermark',
  'publishCatalog',
  'replaceField',
  'shareMeasurements',
  'readMeasurements',
] as const;

/** Scripts for several requests (`step-batch.ts`) or shards (`shard-batch.ts`) in one call. */
const batchScripts = ['redeem', 'settle', 'takeSettlements', 'join', 'readMembers', 'reap'] as const;

export const scriptNames = [...shardScripts, ...batchScripts];
export type ScriptName = (typeof shardScripts)[number];
export type BatchName = (typeof batchScripts)[number];
export type Argument = string | number;
/** Takes the arguments as one array, because a call cannot spread a hundred thousand arguments. */
type Command = (...args: (Argument | readonly Argument[])[]) => Promise<unknown>;

/** Runs scripts and plain commands on one connection with one circuit breaker. */
export class ScriptRunner {
  readonly connection: RedisConnection;
  readonly membership: Membership;
  readonly #breaker: Breaker;
  readonly #commands = new Map<ScriptName | BatchName, Command>();
  readonly #timeoutMs: number;
  #gathering = false;
  #batches: (() => void)[] = [];

  /** `onRefusal` is called with every error that Redis answers. `timeoutMs` limits the wait for each answer. */
  constructor(
    connection: RedisConnection,
    membership: Membership,
    { now, onRefusal, timeoutMs }: Pick<BreakerOptions, 'now' | 'onRefusal'> & { readonly timeoutMs: number },
  ) {
    this.#timeoutMs = timeoutMs;
    this.connection = connection;
    this.membership = membership;
    this.#breaker = new Breaker({ threshold: 10, openMs: 500, now, onRefusal });
    const define = (name: ScriptName | BatchName, keys: { numberOfKeys?: number }): void => {
      connection.defineCommand(`sotto_${name}`, { lua: assembleScript(name).lua, ...keys });
      const defined: unknown = Reflect.get(connection, `sotto_${name}`);
      if (typeof defined !== 'function') throw new Error(`script ${name} was not defined`);
      this.#commands.set(name, defined.bind(connection));
    };
    for (const name of shardScripts) define(name, { numberOfKeys: 1 });
    for (const name of batchScripts) define(name, {});
  }

  /** Runs a script on one key. */
  run(name: ScriptName, key: string, args: readonly Argument[]): Promise<unknown> {
    return this.#ask(() => {
      this.#gather();
      return this.#command(name)(key, args);
    });
  }

  /** Runs a script for several requests. `shards` must have one element in a cluster. */
  runBatch(name: BatchName, shards: readonly number[], args: readonly Argument[]): Promise<unknown> {
    return this.#ask(() => this.#command(name)(shards.length, shards.map(epochKey), args));
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

  /** Calls `send` at the end of this turn of the event loop. */
  atTurnEnd(send: () => void): void {
    this.#batches.push(send);
    this.#gather();
  }

  #ask<T>(call: () => Promise<T>): Promise<T> {
    return this.#breaker.run(() => inTime(call(), this.#timeoutMs));
  }

  #command(name: ScriptName | BatchName): Command {
    const command = this.#commands.get(name);
    if (command === undefined) throw new Error(`no script ${name}`);
    return command;
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
  async step(name: ScriptName, shard: number, args: readonly Argument[]): Promise<readonly unknown[]> {
    const caller = this.membership.caller(shard);
    const { client, epoch, acked, leaseUntil } = caller;
    const reply = await this.onShard(name, shard, [client, epoch, acked, leaseUntil, ...args]);
    const [count, ...answer] = listReply(reply);
    return this.membership.take(shard, caller, count === 'refused' ? readRefusal(answer) : readCount(count, answer));
  }

  /** Runs a script on a shard. */
  onShard(name: ScriptName, shard: number, args: readonly Argument[]): Promise<unknown> {
    return this.run(name, epochKey(shard), args);
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

/** Checks that a reply is a list of strings or numbers. Anything else means that another program writes to this Redis. */
export function listReply(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw new StateUnavailableError('unexpected reply');
}

/** Parses a stored record. Returns undefined if it is malformed, because a parser's error would quote it. */
export const readJson = <T>(text: unknown, schema: z.ZodType<T>): T | undefined =>
  typeof text === 'string' ? schema.safeParse(parseJson(text)).data : undefined;
