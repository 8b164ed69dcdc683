import type { Membership } from '../membership/membership.ts';
import type { KeyProjection, ProjectionPort } from '../ports/index.ts';
import type { Answer, Asked, StepName, StepPorts } from './step.ts';
import { steps } from './steps.ts';

/** The key of each secret, by the secret's hash. Its entries are on other shards than the key. */
export interface KeyIndex {
  put(key: Parameters<ProjectionPort['indexKey']>[0]): Promise<void>;
  /** Lets entries expire. They do not end at once, because a later projection of a key that works again may be faster. */
  end(secretHashes: readonly string[]): Promise<void>;
}

export type Run = <N extends StepName>(name: N, asked: Asked<N>) => Promise<Answer<N>>;

/** The methods that both drivers have from the table of steps, with what they do beside them. */
export function steppedState(
  run: Run,
  { membership, index }: { readonly membership: Membership; readonly index: KeyIndex },
): StepPorts & Pick<ProjectionPort, 'indexKey'> {
  const call: Run = async (name, asked) => {
    steps[name].check?.(...asked);
    return run(name, asked);
  };
  const methods = Object.keys(steps).map((name) => [
    name,
    (...asked: Asked<StepName>) => call(name as StepName, asked),
  ]);
  return {
    ...(Object.fromEntries(methods) as StepPorts),
    indexKey: (key) => index.put(key),

    async join(shard, request) {
      const caller = membership.caller(shard);
      const reply = await call('join', [shard, request]);
      if (reply.result === 'joined') membership.joined(shard, caller, reply.leaseUntil);
      return reply;
    },

    async redeem(request) {
      const caller = membership.caller(request.shard);
      const reply = await call('redeem', [request]);
      membership.assertCurrent(request.shard, caller);
      return reply;
    },

    async putKey(key) {
      const { isLacking, before } = await call('putKey', [key]);
      // An older projection may be of a key that was removed.
      if (isLacking === undefined) return false;
      // Written after the record, because an indexed key must have one.
      await index.put(key);
      const named = secretHashesOf(key);
      await index.end(before.filter((hash) => !named.includes(hash)));
      return isLacking;
    },

    async removeKey(key) {
      if (await call('removeKey', [key])) await index.end(secretHashesOf(key));
    },

    async forget(shard, holdIds) {
      if (holdIds.length > 0) await call('forget', [shard, holdIds]);
    },

    async acknowledge(shard, streamId, reader) {
      membership.assertCurrent(shard, reader);
      await call('acknowledge', [shard, streamId, reader]);
    },
  };
}

export const secretHashesOf = ({
  keyHash,
  secrets = [],
}: Pick<KeyProjection, 'keyHash' | 'secrets'>): readonly string[] => [
  ...new Set([keyHash, ...secrets.map(({ secretHash }) => secretHash)]),
];
