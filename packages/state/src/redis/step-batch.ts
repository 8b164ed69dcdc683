import type { Caller, Guarded } from '../membership/membership.ts';
import { listReply } from '../steps/read-reply.ts';
import type { Argument } from '../steps/step.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { readRefusal, type ScriptName, type ScriptRunner } from './script-runner.ts';

/** Most requests of one call, so that a call does not block Redis for long. */
const maxRequests = 64;

interface Waiting {
  readonly shard: number;
  /** The process's membership when it asked, which its own books name. It may have changed before the call. */
  readonly caller: Caller;
  readonly values: readonly Argument[];
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/**
 * Group commit: sends the steps that were asked for in one turn of the event loop in one call, because most of a call's cost does
 * not depend on what it does. No step waits for others to come. A shard executes its steps in the order of the calls, each as the
 * member that asked for it. In a cluster each shard has its own call.
 *
 * A request that fails on a damaged record fails alone. A call is never repeated here: the caller resolves a lost reply.
 */
export class StepBatch {
  readonly #runner: ScriptRunner;
  readonly #name: ScriptName;
  readonly #common: () => Argument;
  #waiting: Waiting[] = [];

  /** `common` returns the value that all requests of a call share. */
  constructor(runner: ScriptRunner, name: ScriptName, common: () => Argument) {
    this.#runner = runner;
    this.#name = name;
    this.#common = common;
  }

  /** Executes a step on a shard as this process's member. Rejects with `StateUnavailableError` if the shard refuses it. */
  step(shard: number, caller: Caller, values: readonly Argument[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#runner.assertTakes(this.#name, values);
      const request = { shard, caller, values, resolve, reject };
      if (this.#runner.isFailing) return void this.#send([request]);
      this.#waiting.push(request);
      if (this.#waiting.length === 1) this.#runner.atTurnEnd(() => this.#sendAll());
    });
  }

  #sendAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const together = this.#runner.isSingle ? [waiting] : byMember(waiting);
    for (const group of together) {
      for (let at = 0; at < group.length; at += maxRequests) void this.#send(group.slice(at, at + maxRequests));
    }
  }

  /** Never rejects. */
  async #send(requests: readonly Waiting[]): Promise<void> {
    try {
      await this.#call(byMember(requests));
    } catch (error) {
      for (const { reject } of requests) reject(error);
    }
  }

  async #call(groups: readonly Group[]): Promise<void> {
    const { membership } = this.#runner;
    const shards: number[] = [];
    const args = [this.#common()];
    for (const group of groups) {
      const [{ shard, caller }] = group;
      shards.push(shard);
      args.push(caller.client, caller.epoch, caller.acked, caller.leaseUntil, group.length);
      for (const { values } of group) args.push(...values);
    }
    const replies = listReply(await this.#runner.runBatch(this.#name, shards, args));
    for (const [at, group] of groups.entries()) {
      const [{ shard, caller }] = group;
      try {
        const [kind, message] = listReply(replies[at]);
        if (kind === 'error') throw this.#runner.refusalOf(String(message));
        const answers = membership.take(shard, caller, readReply(replies[at], group.length));
        for (const [place, { resolve, reject }] of group.entries()) {
          const answer = answers[place];
          const [what, why] = Array.isArray(answer) ? answer : [];
          if (what === 'error') reject(this.#runner.refusalOf(String(why)));
          else resolve(answer);
        }
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
  }
}

/** Requests of one shard by one incarnation in one epoch. */
type Group = [Waiting, ...Waiting[]];

function byMember(requests: readonly Waiting[]): Group[] {
  const groups = new Map<string, Group>();
  for (const request of requests) {
    const { client, epoch } = request.caller;
    const name = `${request.shard} ${epoch} ${client}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [request]);
    else group.push(request);
  }
  return [...groups.values()];
}

/** Reads one shard's part of a reply. */
function readReply(reply: unknown, requests: number): Guarded<readonly unknown[]> {
  const [count, ...rest] = listReply(reply);
  if (count === 'refused') return readRefusal(rest);
  const [changed, ...answer] = rest;
  if (answer.length !== requests) throw new StateUnavailableError('unexpected reply');
  return { count: Number(count), changed: Number(changed), answer };
}
