import type { Right } from '@sotto/state';
import { generationOf } from '@sotto/state';
import { type BothDrivers, newest, type Stage, shard } from './both-drivers.ts';
import { type ControlTruth, type KeyTruth, walletIds } from './control-truth.ts';
import { statedGeneration } from './fixtures.ts';
import type { Operation, StepRight } from './history.ts';

/** The rights of a history's requests: keys, and the tickets that were minted. */
export class HistoryRights {
  readonly #truth: ControlTruth;
  readonly #drivers: BothDrivers;
  readonly #clock: Stage['clock'];
  readonly #minted = new Map<
    string,
    Pick<KeyTruth, 'budgetIds'> & { readonly key: KeyTruth; readonly expiresAt: number }
  >();

  constructor(truth: ControlTruth, drivers: BothDrivers, { clock }: Pick<Stage, 'clock'>) {
    this.#truth = truth;
    this.#drivers = drivers;
    this.#clock = clock;
  }

  async mint({ ticket, key: index, ttlS }: Extract<Operation, { op: 'mint' }>): Promise<void> {
    const { now } = this.#clock;
    const key = this.#truth.keys[index];
    const ticketHash = `ticket-${ticket}`;
    const earlier = this.#minted.get(ticketHash);
    // A repeated mint is for the same key and arrives within its ticket's life. Another ticket has another hash.
    if (key === undefined || (earlier !== undefined && (earlier.key !== key || earlier.expiresAt <= now))) return;
    const ttlMs = ttlS * 1000;
    const generation = this.#truthOf(key, 0);
    const reply = await this.#drivers.both('mint', (state) =>
      state.mint({
        shard,
        ticketHashes: [ticketHash],
        walletId: walletIds[key.wallet] ?? '',
        keyHash: key.keyHash,
        generation,
        ttlMs,
      }),
    );
    if (reply?.result !== 'minted' || earlier !== undefined) return;
    this.#minted.set(ticketHash, { key, budgetIds: key.budgetIds, expiresAt: now + ttlMs });
  }

  /** Counts a refusal by a broker, and reads all counts. */
  async countRefusal(step: StepRight): Promise<void> {
    const { right } = this.of(step);
    await this.#drivers.both('count refusal', (state) => state.countRefusal({ shard, right, kind: 'access' }));
    await this.#drivers.both('read refusals', async (state) => {
      const { hour, counts } = await state.readRefusals(shard, 0);
      return { hour, counts: counts.map((count) => JSON.stringify(count)).toSorted() };
    });
  }

  /** The right that a step names, and its key. Undefined: no key has it. */
  of(step: StepRight): { readonly right: Right; readonly key: KeyTruth | undefined } {
    if ('key' in step) {
      const key = this.#truth.keys[step.key];
      return { key, right: { kind: 'key', keyHash: key?.keyHash ?? 'unknown' } };
    }
    const [ticketHash, ticket] = newest([...this.#minted], step.ticket) ?? ['forged', undefined];
    return { key: ticket?.key, right: { kind: 'ticket', ticketHash } };
  }

  /** The budgets of the key when control sealed the account reference of a ticket, or of the key's present record. */
  budgetIdsOf(right: Right, key: KeyTruth | undefined): readonly string[] {
    const sealed = right.kind === 'ticket' ? this.#minted.get(right.ticketHash) : key;
    return sealed?.budgetIds ?? [];
  }

  /** The generation that a request by this right states. The mark of a ticket has its own. */
  generationOf(right: Right, key: KeyTruth | undefined, staleBy: number): string | undefined {
    if (right.kind === 'ticket') return undefined;
    if (key === undefined) return 'unknown';
    return statedGeneration(right, walletIds[key.wallet] ?? '', this.#truthOf(key, staleBy));
  }

  #truthOf(key: KeyTruth, staleBy: number): string {
    return generationOf(key.generation, (this.#truth.workspaces[key.wallet]?.version ?? 0) - staleBy);
  }
}
